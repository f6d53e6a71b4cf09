/** A whole gateway on free ports for tests, with callers made up by the test. */

import { type Clock, type Ids, MeshError, systemClock, type TokenId, type UserId } from "@mesh/kernel";
import { sequentialIds } from "@mesh/kernel/testing";
import { createMetrics, silentLogger } from "@mesh/observability";

import type { Caller, Scope } from "../../auth/caller.ts";
import { createGateway, type GatewayConfig, type GatewayDeps } from "../gateway.ts";
import type { Api } from "../operation.ts";

/** A caller with these scopes. */
export function callerWith(scopes: readonly Scope[], part: Partial<Caller> = {}): Caller {
  return {
    userId: "user_1" as UserId,
    userName: "ada",
    tokenId: `tok_${scopes.join("-")}` as TokenId,
    scopes,
    isAdmin: scopes.includes("admin"),
    workspaceIds: undefined,
    ...part,
  };
}

/** What a test may change. */
export interface GatewayFixtureOptions {
  readonly api: Api;
  /** Tokens by text; default: `admin`. */
  readonly callers?: Map<string, Caller>;
  readonly config?: Partial<GatewayConfig>;
  readonly natsWebsocket?: GatewayDeps["natsWebsocket"];
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly ready?: GatewayDeps["ready"];
  readonly log?: GatewayDeps["log"];
  readonly oidc?: GatewayDeps["oidc"];
  readonly contents?: GatewayDeps["contents"];
}

/** A gateway that listens. */
export interface RunningGateway extends AsyncDisposable {
  readonly url: string;
  readonly httpPort: number;
  readonly grpcAddress: string;
  /** `fetch` with the token `admin` unless the headers say otherwise. */
  fetch(path: string, init?: RequestInit & { readonly token?: string }): Promise<Response>;
  /** Starts the stop; resolves at its end. */
  stop(): Promise<void>;
}

/** Starts a gateway; stopped by `await using`. */
export async function startGateway(options: GatewayFixtureOptions): Promise<RunningGateway> {
  const callers = options.callers ?? new Map([["admin", callerWith(["admin"])]]);
  const gateway = createGateway({
    config: { host: "127.0.0.1", httpPort: 0, grpcPort: 0, version: "0.0.0-test", graceMs: 500, ...options.config },
    api: options.api,
    contents: options.contents ?? { open: () => Promise.reject(new MeshError("not_found", "no files here")) },
    authenticator: {
      async authenticate(token) {
        const caller = callers.get(token);
        if (caller === undefined) throw new MeshError("unauthenticated", "unknown token");
        return caller;
      },
    },
    log: options.log ?? silentLogger,
    metrics: createMetrics({ processMetrics: false }),
    natsWebsocket: options.natsWebsocket ?? { host: "127.0.0.1", port: 1 },
    ready: options.ready ?? (() => ({ ok: true, reasons: [] })),
    clock: options.clock ?? systemClock,
    ids: options.ids ?? sequentialIds(),
    oidc: options.oidc,
  });
  const stop = new AbortController();
  const { httpPort, grpcPort } = await gateway.listen();
  const running = gateway.run(stop.signal);
  const url = `http://127.0.0.1:${httpPort}`;
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    url,
    httpPort,
    grpcAddress: `127.0.0.1:${grpcPort}`,
    fetch(path, { token = "admin", ...init } = {}) {
      const headers = new Headers(init.headers);
      if (token !== "" && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
      return fetch(`${url}${path}`, { ...init, headers });
    },
    stop: end,
    [Symbol.asyncDispose]: end,
  };
}
