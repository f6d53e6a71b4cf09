/** Users, devices and runs over a real database and a memory bus, behind the handlers of the public interface. For tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createTrust, createUserKey, nodeDigest, signWithSeed, type UserKey } from "@mesh/bus";
import { type MemoryBus, memoryBus, type MemoryHub } from "@mesh/bus/testing";
import { RunGroup, systemClock } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { JoinNodeRequest, type JoinNodeResponse, type SecretsAnswer } from "@mesh/proto";

import { startTenant, type Tenant } from "../../auth/testing/tenant.ts";
import type { NodeApi, RunApi } from "../../gateway/operation.ts";
import { Dispatcher } from "../../runs/dispatcher.ts";
import { EventTail } from "../../runs/event-tail.ts";
import { createRunApi } from "../../runs/run-api.ts";
import { WorkPublisher } from "../../runs/work-publisher.ts";
import type { EnrolmentDeps } from "../enrolment.ts";
import { createHeartbeats } from "../heartbeats.ts";
import { createNodeApi } from "../node-api.ts";
import { createNodeRpc } from "../node-rpc.ts";
import { Reconciler } from "../reconciler.ts";

/** A device with its key. */
export interface Device extends UserKey {
  readonly digest: string;
  readonly bus: MemoryBus;
}

/** Everything a test touches. */
export interface Fleet extends AsyncDisposable {
  readonly tenant: Tenant;
  readonly hub: MemoryHub;
  /** The coordinator's connection. */
  readonly bus: MemoryBus;
  /** The coordinator's connection to the system account. */
  readonly system: MemoryBus;
  readonly nodes: NodeApi;
  readonly runs: RunApi;
  readonly enrolment: EnrolmentDeps;
  readonly reconciler: Reconciler;
  readonly dispatcher: Dispatcher;
  /** Accounts that the servers were given. */
  readonly pushed: string[];
  /** Runs for which secrets were given out. */
  readonly unsealed: string[];
  readonly defaultWorkspaceId: string;
  device(): Device;
  /** A join token of an administrator. */
  token(over?: { readonly uses?: number; readonly labels?: Record<string, string> }): Promise<string>;
  join(device: Device, token: string, over?: Partial<JoinNodeRequest>): Promise<JoinNodeResponse>;
  /** A run of the assistant `hello` in the default workspace, optionally on a device. */
  run(node?: string, input?: string): Promise<string>;
}

/** Starts it; dispose stops it. */
export async function startFleet(): Promise<Fleet> {
  const tenant = await startTenant();
  const { store, access, ids } = tenant;
  const hub = memoryBus();
  const bus = hub.connect();
  const system = hub.connect();
  const pushed: string[] = [];
  hub.connect().serve("$SYS.REQ.CLAIMS.UPDATE", async (data) => {
    pushed.push(Buffer.from(data).toString());
    return Buffer.from(JSON.stringify({ data: { code: 200 } }));
  });
  const dir = mkdtempSync(join(tmpdir(), "yao-fleet-"));
  const trust = createTrust(dir, systemClock);
  const shared = { bus, store, clock: systemClock, log: silentLogger };
  const reconciler = new Reconciler({ ...shared, admin: hub.admin, system, trust });
  const tail = new EventTail({ ...shared, replicaId: "r1" });
  const committed = (runIds: readonly string[]): void => tail.committed(runIds);
  const work = new WorkPublisher(shared);
  const dispatcher = new Dispatcher({ ...shared, work, penalized: () => false, committed });
  const fleetChanged = (): void => dispatcher.poke();
  const prepareNode = (digest: string, slots: number): Promise<void> => reconciler.prepareNode(digest, slots);
  const enrolment: EnrolmentDeps = {
    store,
    trust,
    ids,
    prepareNode,
    clock: systemClock,
    publicNatsUrls: [],
    spkiPin: undefined,
  };
  const cutOff = (digest: string): Promise<void> => reconciler.cutOff(digest);
  const publicUrl = (): string => "http://mesh.test";
  const nodes = createNodeApi({ ...shared, access, ids, enrolment, publicUrl, cutOff, fleetChanged, committed });
  const runs = createRunApi({ ...shared, access, ids, dispatcher, tail, committed });
  const unsealed: string[] = [];
  const secrets = async (run: { readonly workspaceId: string }): Promise<SecretsAnswer> => {
    unsealed.push(run.workspaceId);
    return { keys: { demo: "key" }, env: {} };
  };
  await reconciler.reconcile();
  const group = new RunGroup()
    .add(tail)
    .add(reconciler)
    .add(dispatcher)
    .add(createHeartbeats({ ...shared, fleetChanged, committed }))
    .add(createNodeRpc({ bus, store, secrets, prepareNode, fleetChanged }));
  const stop = new AbortController();
  const running = group.run(stop.signal);
  const defaultWorkspaceId = await seedAssistant(tenant);
  const admin = tenant.as(tenant.admin);

  return {
    tenant,
    hub,
    bus,
    system,
    nodes,
    runs,
    enrolment,
    reconciler,
    dispatcher,
    pushed,
    unsealed,
    defaultWorkspaceId,
    device: () => {
      const key = createUserKey();
      return { ...key, digest: nodeDigest(key.nkey), bus: hub.connect() };
    },
    async token(over = {}) {
      const request = { ttl_seconds: 0, uses: over.uses ?? 0, labels: over.labels ?? {}, workspace_ids: [] };
      return (await nodes.createJoinToken(request, admin)).token;
    },
    join: (device, token, over = {}) => nodes.joinNode(joinRequest(device, token, over), admin),
    async run(node = "", input = "hi") {
      const requirements = { node, labels: {}, os: "", arch: "", tools: [] };
      const { run } = await runs.createRun(
        {
          workspace: "default",
          assistant: "hello",
          input,
          requirements,
          options: {},
          metadata: {},
          timeout_seconds: 0,
          queue_ttl_seconds: 0,
          on_lost: "",
          priority: 0,
          idempotency_key: "",
          messages_json: "",
          chat: "",
        },
        admin,
      );
      return run?.id ?? "";
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await tenant[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** What a device sends to join. */
export function joinRequest(device: Device, token: string, over: Partial<JoinNodeRequest> = {}): JoinNodeRequest {
  const signature = Buffer.from(signWithSeed(device.seed, Buffer.from(`yao-join:${token}`))).toString("base64url");
  return JoinNodeRequest.fromPartial({ token, nkey: device.nkey, signature, protocol: 1, ...over });
}

async function seedAssistant({ store, ids }: Tenant): Promise<string> {
  const [workspace] = await store.sql<{ id: string }[]>`SELECT id FROM workspaces WHERE is_default`;
  const workspaceId = workspace?.id ?? "";
  const appId = ids.next("app");
  await store.sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('d', ${Buffer.from("bundle")}, 6)`;
  await store.sql`INSERT INTO apps (id, workspace_id, name, version, digest) VALUES (${appId}, ${workspaceId}, 'demo', 1, 'd')`;
  await store.sql`INSERT INTO assistants (workspace_id, id, app_id, name) VALUES (${workspaceId}, 'hello', ${appId}, 'Hello')`;
  return workspaceId;
}
