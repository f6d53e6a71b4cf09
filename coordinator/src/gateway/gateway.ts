/**
 * The gateway as one service: HTTP, WebSocket, the NATS tunnel and gRPC over the same handlers.
 *
 * Y1  Stopping: nothing new is accepted, streams get a hint and end, running calls get their grace, then all is cut.
 * Y2  gRPC health and `/readyz` tell the same.
 */

import type { AddressInfo } from "node:net";

import { type Clock, type Ids, MeshError, type Service } from "@mesh/kernel";
import type { Logger, Metrics } from "@mesh/observability";
import { createRpcServer, type RpcServer, type ServerTls } from "@mesh/rpc";
import type { FastifyInstance } from "fastify";

import { Admission, type Authenticator } from "./admission.ts";
import { BrowserPolicy } from "./browser.ts";
import { contentHandler, type FileContents } from "./content-route.ts";
import { ErrorLog } from "./error-log.ts";
import { EventSockets } from "./event-socket.ts";
import { evalEvents, feedEvents, runEvents } from "./event-kind.ts";
import { eventSourceHandler } from "./event-source.ts";
import { grpcServices } from "./grpc-service.ts";
import { addHealthRoutes, type Readiness } from "./health.ts";
import { addRoutes, answerOnce, createHttpApp, type HttpDeps, type HttpHandler } from "./http-server.ts";
import type { AnswerStore } from "./idempotency.ts";
import { addMcpRoute } from "./mcp-route.ts";
import { NatsTunnels, type NatsWebsocket } from "./nats-tunnel.ts";
import { addOidcRoutes, type OidcRouteDeps } from "./oidc-route.ts";
import { OpenStreams } from "./open-streams.ts";
import { addOpenAiRoutes } from "./openai-route.ts";
import type { Api } from "./operation.ts";
import { type Operation, operationOf } from "./operations.ts";
import { RateLimiter, type RateOptions } from "./rate-limit.ts";
import { sessionCookies } from "./session-cookie.ts";
import { routeUpgrades } from "./upgrade.ts";
import { addWebPage } from "./web-page.ts";

/** Where and how the gateway listens. */
export interface GatewayConfig {
  readonly host: string;
  /** 0 takes a free one. */
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly tls?: ServerTls;
  /** Per token; absent means no limit. */
  readonly rate?: RateOptions;
  /** How long running calls may go on after the stop; 10 s. */
  readonly graceMs?: number;
  readonly version: string;
  /** As people reach it, when that is not what it listens on. */
  readonly publicUrl?: string;
  /** Names of this machine, under which a browser may come. */
  readonly hostNames?: readonly string[];
  /** Addresses and networks of proxies that may say where a request comes from. */
  readonly trustedProxies?: readonly string[];
  /** Directory of the built web page. */
  readonly webDirectory?: string;
}

/** What the gateway uses. */
export interface GatewayDeps {
  readonly config: GatewayConfig;
  readonly api: Api;
  readonly contents: FileContents;
  readonly authenticator: Authenticator;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly natsWebsocket: NatsWebsocket;
  /** Cheap and synchronous: asked for each probe and every two seconds. */
  readonly ready: () => Readiness;
  /** Another way to log in, when there is one. */
  readonly oidc?: OidcRouteDeps["oidc"] | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Keeps answers to calls that may be repeated. */
  readonly answers?: AnswerStore;
}

/** Bound addresses. */
export interface GatewayAddresses {
  readonly httpPort: number;
  readonly grpcPort: number;
}

/** The running gateway. */
export interface Gateway extends Service {
  /** Binds both ports; `run` calls it when nobody has. */
  listen(): Promise<GatewayAddresses>;
}

const READY_MS = 2_000;
const MAX_UNARY_MS = 30_000;
const MAX_COPY_MS = 600_000;

/** Puts the gateway together; it listens only from `listen` or `run` on. */
export function createGateway(deps: GatewayDeps): Gateway {
  const parts = assemble(deps);
  let bound: Promise<GatewayAddresses> | undefined;
  const listen = (): Promise<GatewayAddresses> => (bound ??= bind(parts, deps.config));
  return {
    name: "gateway",
    listen,
    async run(signal) {
      try {
        const addresses = await listen();
        deps.log.info({ ...addresses }, "gateway listening");
        await serve(parts, deps, signal);
      } finally {
        parts.isStopping = true;
        await stop(parts, deps);
      }
    },
  };
}

interface Parts {
  readonly app: FastifyInstance;
  readonly rpc: RpcServer;
  readonly streams: OpenStreams;
  readonly sockets: EventSockets;
  readonly tunnels: NatsTunnels;
  isStopping: boolean;
}

function policyOf({ publicUrl, hostNames = [] }: GatewayConfig): BrowserPolicy {
  return new BrowserPolicy({ hostNames, ...(publicUrl === undefined ? {} : { publicUrl: () => publicUrl }) });
}

function rpcServer(
  { clock, ids, config }: GatewayDeps,
  errors: ErrorLog,
  services: ReturnType<typeof grpcServices>,
): RpcServer {
  return createRpcServer(
    services,
    {
      clock,
      requestId: () => ids.next("req"),
      onError: (error, { path, requestId }) => errors.report(error, { path, requestId, transport: "grpc" }),
    },
    {
      host: config.host,
      port: config.grpcPort,
      maxUnaryMs: MAX_UNARY_MS,
      graceMs: config.graceMs ?? 10_000,
      ...(config.tls === undefined ? {} : { tls: config.tls }),
    },
  );
}

function assemble(deps: GatewayDeps): Parts {
  const { api, clock, ids, config } = deps;
  const policy = policyOf(config);
  const admission = new Admission(deps.authenticator, new RateLimiter(clock, config.rate), policy);
  const errors = new ErrorLog(deps.log);
  const streams = new OpenStreams({ admission, clock });
  const sockets = new EventSockets({ api, admission, streams, clock, ids });
  const tunnels = new NatsTunnels({ clock, ids }, deps.natsWebsocket);
  const onCall = measure(deps.metrics, { streams, sockets, tunnels });
  const answers = deps.answers === undefined ? {} : { answers: deps.answers };
  const http: HttpDeps = { api, admission, errors, clock, ids, onCall, ...answers };
  const options = {
    maxUnaryMs: MAX_UNARY_MS,
    trustedProxies: config.trustedProxies ?? [],
    ...(config.tls === undefined ? {} : { tls: config.tls }),
  };
  const app = createHttpApp(http, options);
  const special = specialHandlers(http, streams, deps.contents);
  const isSecure = (): boolean => config.tls !== undefined || config.publicUrl?.startsWith("https:") === true;
  const finishOf = sessionCookies(isSecure);
  const replace = (operation: Operation): HttpHandler | undefined => {
    const finish = finishOf(operation);
    return finish === undefined ? special.get(operation.method) : answerOnce(http, operation, MAX_UNARY_MS, finish);
  };
  addRoutes(app, http, { ...options, replace });
  if (deps.oidc !== undefined) addOidcRoutes(app, { admission, policy, oidc: deps.oidc, isSecure });
  addMcpRoute(app, { ...http, streams });
  addOpenAiRoutes(app, { ...http, streams });
  const rpc = rpcServer(deps, errors, grpcServices({ api, admission, streams }));
  const parts: Parts = { app, rpc, streams, sockets, tunnels, isStopping: false };
  addHealthRoutes(app, {
    admission,
    metrics: deps.metrics,
    version: config.version,
    ready: () => readiness(parts, deps),
  });
  if (config.webDirectory !== undefined) addWebPage(app, { directory: config.webDirectory, policy });
  routeUpgrades(
    app.server,
    new Map([
      ["/v1/ws", sockets.handle],
      ["/nats", tunnels.handle],
    ]),
    ids,
  );
  return parts;
}

/** Handlers of the rows that do more than answer once, by method. */
function specialHandlers(
  http: HttpDeps,
  streams: OpenStreams,
  contents: FileContents,
): ReadonlyMap<string, HttpHandler> {
  const deps = { streams, errors: http.errors, clock: http.clock };
  const page = (operation: Operation): HttpHandler => answerOnce(http, operation, MAX_UNARY_MS);
  return new Map([
    ["listRunEvents", eventSourceHandler(deps, runEvents(http.api), page(operationOf("runs", "listRunEvents")))],
    ["listFeed", eventSourceHandler(deps, feedEvents(http.api), page(operationOf("feed", "listFeed")))],
    ["listEvalResults", eventSourceHandler(deps, evalEvents(http.api), page(operationOf("evals", "listEvalResults")))],
    ["downloadFile", contentHandler({ ...deps, contents })],
    // As much as a gigabyte goes from device to device.
    ["copyFile", answerOnce(http, operationOf("files", "copyFile"), MAX_COPY_MS)],
  ]);
}

function readiness(parts: Parts, deps: GatewayDeps): Readiness {
  return parts.isStopping ? { ok: false, reasons: ["the coordinator is stopping"] } : deps.ready();
}

async function bind({ app, rpc }: Parts, config: GatewayConfig): Promise<GatewayAddresses> {
  try {
    await app.listen({ host: config.host, port: config.httpPort });
  } catch (thrown) {
    throw new MeshError(
      "failed_precondition",
      `cannot listen for HTTP on ${config.host}:${config.httpPort}: is another process using it? Choose another port with YAO_HTTP_PORT`,
      { cause: thrown },
    );
  }
  const grpcPort = await rpc.listen();
  return { httpPort: (app.server.address() as AddressInfo).port, grpcPort };
}

async function serve(parts: Parts, deps: GatewayDeps, signal: AbortSignal): Promise<void> {
  const look = (): void => parts.rpc.setServing(readiness(parts, deps).ok);
  look();
  const cancelLook = deps.clock.every(READY_MS, look);
  try {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    cancelLook();
  }
}

async function stop(parts: Parts, { config, clock, log }: GatewayDeps): Promise<void> {
  const { app, rpc, streams, sockets, tunnels } = parts;
  const stopped = new AbortController();
  stopped.abort();
  const rpcEnded = rpc.run(stopped.signal);
  streams.stop();
  sockets.stop();
  tunnels.stop();
  const cancelTimer = clock.after(config.graceMs ?? 10_000, () => {
    log.warn("cutting connections that did not end in time");
    sockets.cut();
    app.server.closeAllConnections();
  });
  try {
    await Promise.all([rpcEnded, app.close()]);
  } finally {
    cancelTimer();
  }
}

function measure(
  metrics: Metrics,
  { streams, sockets, tunnels }: Pick<Parts, "streams" | "sockets" | "tunnels">,
): HttpDeps["onCall"] {
  const seconds = metrics.histogram("yao_http_request_seconds", "Time until an HTTP call was answered.", {
    labels: ["operation", "status"],
  });
  const gauge = (name: string, help: string, count: () => number): void => {
    metrics.gauge(name, help, { collect: (value) => value.set(count()) });
  };
  gauge("yao_open_streams", "Open streams, over all transports.", () => streams.size);
  gauge("yao_open_sockets", "Open WebSockets of /v1/ws.", () => sockets.size);
  gauge("yao_nats_tunnels", "Open tunnels of /nats.", () => tunnels.size);
  return (operation, status, durationMs) => {
    seconds.observe(durationMs / 1000, { operation: operation.method, status: String(status) });
  };
}
