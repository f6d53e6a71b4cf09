/** The registry every runner starts from: the groups of this folder, bound to the ports given. */

import { randomBytes } from "node:crypto";

import type { Clock } from "@mesh/kernel";

import { cryptoGroup } from "./crypto-group.ts";
import { encodingGroup } from "./encoding-group.ts";
import type { HttpClient } from "./http-client.ts";
import { httpGroup } from "./http-group.ts";
import { ProcessRegistry } from "./process-registry.ts";
import { type QueryPort, queryGroup } from "./query-group.ts";
import { sessionGroup } from "./session-group.ts";
import { storeGroup } from "./store-group.ts";
import type { StorePort } from "./store-port.ts";
import { textGroup } from "./text-group.ts";
import { utilsGroup, type UtilsDeps } from "./utils-group.ts";
import type { RandomBytes } from "./utils-text.ts";

/** What the standard groups need. */
export interface StandardProcessDeps extends Omit<UtilsDeps, "clock" | "randomBytes"> {
  readonly clock: Pick<Clock, "now">;
  readonly http: Pick<HttpClient, "send" | "stream">;
  readonly stores: StorePort;
  readonly query?: QueryPort;
  /** The system's randomness when absent. */
  readonly randomBytes?: RandomBytes;
}

/**
 * `utils crypto encoding text http stores session` and, given its port, `query`; the embedder registers the rest
 * (`models scripts agents agent llms attachment …`).
 */
export function standardProcesses(deps: StandardProcessDeps): ProcessRegistry {
  const registry = new ProcessRegistry();
  registry.register("utils", utilsGroup({ ...deps, randomBytes: deps.randomBytes ?? randomBytes }));
  registry.register("crypto", cryptoGroup());
  registry.register("encoding", encodingGroup());
  registry.register("text", textGroup());
  registry.register(
    "http",
    httpGroup(deps.http, (name, args, caller) => registry.call(name, args, caller)),
  );
  registry.register("stores", storeGroup(deps.stores));
  registry.register("session", sessionGroup(deps.stores));
  if (deps.query !== undefined) registry.register("query", queryGroup(deps.query));
  return registry;
}
