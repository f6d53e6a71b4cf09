/** Builds one coordinator out of its parts: the only place that constructs adapters. */

import { createHmac, randomBytes } from "node:crypto";

import {
  type Bus,
  type BusAdmin,
  busAdmin,
  type BusCredentials,
  connectBus,
  loadTrust,
  type NatsTrust,
} from "@mesh/bus";
import { type Ids, MeshError, type Service, systemClock, systemIds } from "@mesh/kernel";
import { type ModelDb, modelDb } from "@mesh/models";
import { createMetrics, type Logger, type Metrics } from "@mesh/observability";
import { LeaderElector, migrate, openStore, type Store } from "@mesh/store";

import type { Access } from "./auth/access.ts";
import { createAnswerStore } from "./auth/answer-store.ts";
import { createAccess } from "./auth/access-store.ts";
import { TokenAuthenticator } from "./auth/authenticator.ts";
import { bootstrap, issueAdminToken } from "./auth/bootstrap.ts";
import { createSecretBox, type SecretBox } from "./auth/secret-box.ts";
import type { CoordinatorConfig } from "./config.ts";
import { browserConfig, firstLoginUrl, oidcLogin } from "./context/account.ts";
import { createApi } from "./context/api.ts";
import { createBoard } from "./context/board.ts";
import { createEvals } from "./context/eval.ts";
import { createFeeds } from "./context/feed.ts";
import { createFiles, type Files } from "./context/files.ts";
import { parseHostPort, reachable, urlOf } from "./context/listen-address.ts";
import { createOpenServices } from "./context/open-api.ts";
import { createPush } from "./context/push.ts";
import { createSecretSource } from "./connectors/connector-api.ts";
import { createGateway, type Gateway, type GatewayAddresses } from "./gateway/gateway.ts";
import type { Readiness } from "./gateway/health.ts";
import type { Api } from "./gateway/operation.ts";
import { loadMasterKey } from "./master-key.ts";
import { overdueDrains } from "./membership/drain-store.ts";
import { createHeartbeats } from "./membership/heartbeats.ts";
import { tellDraining } from "./membership/node-api.ts";
import { createNodeRpc } from "./membership/node-rpc.ts";
import { Reconciler } from "./membership/reconciler.ts";
import { Dispatcher } from "./runs/dispatcher.ts";
import { EventTail } from "./runs/event-tail.ts";
import { createIngest } from "./runs/ingest.ts";
import { PenaltyBox } from "./runs/penalty-box.ts";
import { createSweeper } from "./runs/sweeper.ts";
import { WorkPublisher } from "./runs/work-publisher.ts";
import { dropEndedMemory } from "./state/memory-store.ts";
import { createModelState } from "./state/model-state.ts";
import { createStateRpc } from "./state/state-rpc.ts";
import { loadTlsIdentity, type TlsIdentity } from "./tls-identity.ts";
import { VERSION } from "./version.ts";

const ENDED_MEMORY_BATCH = 5000;

/** What a started coordinator tells its parent. */
export interface Started {
  readonly httpUrl: string;
  readonly grpcAddress: string;
  /** Only at the very first start of a database. */
  readonly adminToken?: string;
  /** Opens the web page as the administrator, once; given together with `adminToken`. */
  readonly loginUrl?: string;
}

/** A coordinator ready to run. */
export interface Context {
  /** To be run as one group; stops in reverse order, the gateway first. */
  readonly services: readonly Service[];
  /** Resolves when the services answer; call it after they have been started. */
  start(): Promise<Started>;
  close(): Promise<void>;
}

/** What a coordinator starts from. */
export interface Base {
  /** Aborts when the process was asked to stop. */
  readonly stopping: AbortSignal;
  readonly config: CoordinatorConfig;
  readonly log: Logger;
  readonly store: Store;
  /** Connections for the tables of models: what an assistant's queries use up is not missing elsewhere. */
  readonly modelStore: Store;
  readonly trust: NatsTrust;
  readonly bus: Bus;
  readonly system: Bus;
  readonly tls: TlsIdentity | undefined;
}

const MAX_CONNECTIONS = 16;
const MAX_MODEL_CONNECTIONS = 8;
const MODEL_STATEMENT_MS = 15_000;

/** Connects to PostgreSQL and NATS, brings the schema up to date and wires everything. */
export async function createContext(config: CoordinatorConfig, log: Logger, stopping: AbortSignal): Promise<Context> {
  const tls = loadTlsIdentity(config.tlsCert, config.tlsKey);
  const databaseUrl = required(config.databaseUrl, "YAO_DATABASE_URL");
  const natsUrl = required(config.natsUrl, "YAO_NATS_URL");
  const trust = loadTrust(required(config.natsTrustDir, "YAO_NATS_TRUST_DIR"), systemClock);
  await migrate(databaseUrl, { log });
  const store = openStore({ url: databaseUrl, maxConnections: MAX_CONNECTIONS, applicationName: "yao coordinator" });
  const modelStore = openStore({
    url: databaseUrl,
    maxConnections: MAX_MODEL_CONNECTIONS,
    applicationName: "yao models",
    statementTimeoutMs: MODEL_STATEMENT_MS,
  });
  const servers = natsUrl.split(",").map((url) => url.trim());
  const busLog = (event: string, fields: Readonly<Record<string, unknown>>): void =>
    log.info({ component: "bus", ...fields }, event);
  const connect = async (name: string, credentials: BusCredentials): Promise<Bus> =>
    connectBus({ servers, credentials, name, clock: systemClock, log: busLog });
  const bus = await connect("coordinator", await trust.issueCoordinator());
  const system = await connect("coordinator-system", await trust.issueSystem());
  return assemble({ stopping, config, log, store, modelStore, trust, bus, system, tls });
}

/** Parts that more than one other part uses. */
export interface Core extends Base {
  readonly ids: Ids;
  readonly access: Access;
  readonly authenticator: TokenAuthenticator;
  readonly secretBox: SecretBox;
  readonly columnSecret: Uint8Array;
  readonly models: ModelDb;
  readonly penalties: PenaltyBox;
  readonly metrics: Metrics;
  readonly admin: BusAdmin;
  readonly tail: EventTail;
  readonly work: WorkPublisher;
  readonly dispatcher: Dispatcher;
  readonly reconciler: Reconciler;
  readonly elector: LeaderElector;
  readonly replicaId: string;
  readonly committed: (runIds: readonly string[]) => void;
  readonly pokeQueue: () => void;
  readonly prepareNode: (digest: string, slots: number) => Promise<void>;
}

function createCore(base: Base): Core {
  const { config, log, store, trust, bus, system } = base;
  const clock = systemClock;
  const masterKey = loadMasterKey(config.masterKey, config.dataDir);
  const replicaId = randomBytes(6).toString("hex");
  const admin = busAdmin(bus);
  const penalties = new PenaltyBox(clock);
  const tail = new EventTail({ store, bus, clock, log: log.child({ component: "tail" }), replicaId });
  const committed = (runIds: readonly string[]): void => tail.committed(runIds);
  const dispatchLog = log.child({ component: "dispatch" });
  const work = new WorkPublisher({ bus, store, log: dispatchLog });
  const penalized = (nodeId: string): boolean => penalties.has(nodeId);
  const dispatcher = new Dispatcher({ store, work, clock, log: dispatchLog, penalized, committed });
  const reconciler = new Reconciler({
    bus,
    admin,
    system,
    trust,
    store,
    clock,
    log: log.child({ component: "reconcile" }),
  });
  return {
    ...base,
    ids: systemIds(),
    access: createAccess(store),
    authenticator: new TokenAuthenticator({ store, clock }),
    secretBox: createSecretBox(masterKey),
    // A key of its own: what opens a column opens nothing else.
    columnSecret: createHmac("sha256", masterKey).update("yao model columns").digest(),
    models: modelDb(base.modelStore),
    penalties,
    metrics: createMetrics(),
    admin,
    tail,
    work,
    dispatcher,
    reconciler,
    elector: new LeaderElector({ url: store.url, clock, log: log.child({ component: "leader" }) }),
    replicaId,
    committed,
    pokeQueue: () => dispatcher.poke(),
    prepareNode: (digest, slots) => reconciler.prepareNode(digest, slots),
  };
}

function createRunServices(core: Core): Service[] {
  const { store, bus, log, committed, pokeQueue, admin, work } = core;
  const clock = systemClock;
  const stored = core.metrics.counter("yao_events_stored_total", "Events of runs written to the database.");
  const ingest = createIngest({
    bus,
    store,
    log: log.child({ component: "ingest" }),
    committed,
    slotsFreed: pokeQueue,
    onMissing: async () => core.reconciler.request(),
    counted: (events) => stored.inc({}, events),
  });
  const sweeper = createSweeper({
    store,
    bus,
    admin,
    work,
    clock,
    log: log.child({ component: "sweeper" }),
    isLeader: () => core.elector.isLeader,
    graceMs: core.config.leaseGrace,
    deltaRetentionMs: core.config.deltaRetention,
    committed,
    pokeQueue,
    penalize: (nodeId) => core.penalties.add(nodeId),
    endDrains: async () => {
      for (const digest of await overdueDrains(store.sql)) tellDraining(bus, digest, true, true);
    },
    dropEndedMemory: () => dropEndedMemory(store.sql, ENDED_MEMORY_BATCH),
  });
  return [ingest, sweeper];
}

function createNodeServices(core: Core, files: Files): Service[] {
  const { store, bus, log, committed, pokeQueue: fleetChanged, secretBox, prepareNode, models, columnSecret } = core;
  const beatLog = log.child({ component: "heartbeats" });
  return [
    createHeartbeats({ bus, store, clock: systemClock, log: beatLog, fleetChanged, committed }),
    createNodeRpc({ bus, store, secrets: createSecretSource({ store, secretBox }), prepareNode, fleetChanged }),
    createStateRpc({ bus, store, services: files.beside(createModelState({ sql: store.sql, models, columnSecret })) }),
    ...files.services,
  ];
}

/** What the door leads to. */
interface Inside {
  readonly api: Api;
  readonly contents: Files["contents"];
  readonly ready: () => Readiness;
  readonly publicUrl: () => string;
}

function createDoor(core: Core, { api, contents, ready, publicUrl }: Inside): Gateway {
  const { config, tls, log } = core;
  return createGateway({
    config: {
      host: config.host,
      httpPort: config.httpPort,
      grpcPort: config.grpcPort,
      version: VERSION,
      ...browserConfig(config),
      ...(tls === undefined ? {} : { tls }),
      ...(config.rateLimit === 0 ? {} : { rate: { perMinute: config.rateLimit, burst: config.rateLimit } }),
    },
    api,
    contents,
    authenticator: core.authenticator,
    oidc: oidcLogin({ ...core, clock: systemClock, publicUrl }, config),
    log: log.child({ component: "gateway" }),
    metrics: core.metrics,
    natsWebsocket: parseHostPort(config.natsWs),
    ready,
    clock: systemClock,
    ids: core.ids,
    answers: createAnswerStore(core.store, core.secretBox),
  });
}

function assemble(base: Base): Context {
  const { config, store, bus, system, tls } = base;
  const core = createCore(base);
  const health = new DatabaseHealth(store);
  let isStarted = false;
  let addresses: GatewayAddresses = { httpPort: config.httpPort, grpcPort: config.grpcPort };
  const localUrl = (): string => urlOf(config, addresses.httpPort, tls !== undefined);
  const feeds = createFeeds(core);
  const publicUrl = (): string => config.publicUrl?.replace(/\/+$/, "") ?? localUrl();
  const files = createFiles(core, feeds.recorded);
  const board = createBoard(core, feeds.recorded);
  const evals = createEvals(core);
  const push = createPush(core, publicUrl);
  const api = createApi(core, { feeds, board, files, evals, push }, publicUrl);
  const ready = (): Readiness => readiness(isStarted, bus, health);
  const gateway = createDoor(core, { api, contents: files.contents, ready, publicUrl });
  const { elector, tail, reconciler, dispatcher } = core;
  return {
    services: [
      health,
      elector,
      tail,
      reconciler,
      dispatcher,
      ...createRunServices(core),
      ...createNodeServices(core, files),
      ...feeds.services,
      ...board.services,
      ...evals.services,
      ...createOpenServices(core),
      ...push.services,
      gateway,
    ],
    async start() {
      const first = await bootstrap(store, core.ids);
      const adminToken =
        first.adminToken ?? (config.issueAdminToken ? await issueAdminToken(store, core.ids) : undefined);
      await reconciler.reconcile();
      addresses = await gateway.listen();
      isStarted = true;
      const url = adminToken === undefined ? undefined : await firstLoginUrl(store, core.ids, publicUrl());
      return {
        httpUrl: localUrl(),
        grpcAddress: `${reachable(config.host)}:${addresses.grpcPort}`,
        ...(adminToken === undefined ? {} : { adminToken }),
        ...(url === undefined ? {} : { loginUrl: url }),
      };
    },
    async close() {
      await Promise.allSettled([bus.close(), system.close()]);
      await Promise.all([store.close(), core.modelStore.close()]);
    },
  };
}

/** Looks every second whether the database answers, so that readiness is cheap to ask. */
class DatabaseHealth implements Service {
  readonly name = "database-health";
  readonly #store: Store;
  isReachable = true;

  constructor(store: Store) {
    this.#store = store;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.isReachable = await this.#store.sql`SELECT 1`.then(
        () => true,
        () => false,
      );
      await systemClock.sleep(1000, signal);
    }
  }
}

function readiness(isStarted: boolean, bus: Bus, health: DatabaseHealth): { ok: boolean; reasons: string[] } {
  const reasons: string[] = [];
  if (!isStarted) reasons.push("starting");
  if (!health.isReachable) reasons.push("PostgreSQL does not answer");
  if (bus.status.kind !== "connected") reasons.push("NATS is not connected");
  return { ok: reasons.length === 0, reasons };
}

function required(value: string | undefined, option: string): string {
  if (value !== undefined) return value;
  throw new MeshError("invalid_argument", `${option} is not set; \`yao up\` sets it, or see docs/guides/deploy.md`);
}
