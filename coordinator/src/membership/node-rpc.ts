/**
 * Answers what nodes ask: hello after each connection, parts of bundles, secrets and the saved state of a run.
 *
 * S1  The asking node is the one whose subject the server let it use; nothing in the payload is believed about identity.
 * S2  A bundle is given only to a node that holds a run of it. Secrets and saved states are given only to the node that holds the run's lease in that epoch, and only for that run.
 */

import { type Bus, COORDINATOR_QUEUE, nodeOfSubject, subjects, type Subscription } from "@mesh/bus";
import { isObject, MeshError, retryable, type Service } from "@mesh/kernel";
import {
  BundleChunk,
  BundleChunkRequest,
  EvalBatchPart,
  EvalBatchRequest,
  EvalPermitAnswer,
  EvalPermitRequest,
  Hello,
  HelloAnswer,
  SecretsAnswer,
  SecretsRequest,
  StatePart,
  StateRequest,
} from "@mesh/proto";
import { databaseError, type Sql, type Store } from "@mesh/store";

import { createBatchReader } from "../evals/batch-rpc.ts";
import { evalPermit } from "../evals/permit-rpc.ts";
import { storableText, storableValue } from "../runs/storable.ts";
import { readSavedPart } from "../runs/waiting-store.ts";
import { PROTOCOL } from "./enrolment.ts";
import { HEARTBEAT_MS, toLease } from "./heartbeats.ts";
import { heldBy, recordHello, renew } from "./heartbeat-store.ts";
import { updateFacts } from "./node-store.ts";

const CHUNK_BYTES = 512 * 1024;
const MAX_PARTS = 100_000;
const MAX_FACTS_BYTES = 64 * 1024;

/** Keys and variables one run may see. */
export type SecretSource = (run: {
  readonly workspaceId: string;
  readonly assistantId: string;
  /** Connector named by the caller; empty when none was. */
  readonly connector: string;
}) => Promise<SecretsAnswer>;

/** What the responder uses. */
export interface NodeRpcDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly secrets: SecretSource;
  readonly prepareNode: (digest: string, slots: number) => Promise<void>;
  readonly fleetChanged: () => void;
}

/** The responder of one replica. */
export function createNodeRpc(deps: NodeRpcDeps): Service {
  const batches = createBatchReader(deps.store.sql);
  const methods: Readonly<Record<string, (digest: string, data: Uint8Array) => Promise<Uint8Array>>> = {
    hello: async (digest, data) => HelloAnswer.encode(await hello(deps, digest, Hello.decode(data))).finish(),
    bundle: async (digest, data) =>
      BundleChunk.encode(await bundle(deps.store.sql, digest, BundleChunkRequest.decode(data))).finish(),
    secrets: async (digest, data) =>
      SecretsAnswer.encode(await secrets(deps, digest, SecretsRequest.decode(data))).finish(),
    state: async (digest, data) =>
      StatePart.encode(await savedPart(deps.store.sql, digest, StateRequest.decode(data))).finish(),
    eval_batch: async (digest, data) =>
      EvalBatchPart.encode(await batches.part(digest, EvalBatchRequest.decode(data))).finish(),
    eval_permit: async (digest, data) =>
      EvalPermitAnswer.encode(await evalPermit(deps.store.sql, digest, EvalPermitRequest.decode(data))).finish(),
  };
  return {
    name: "node-rpc",
    async run(signal) {
      const served: Subscription[] = Object.entries(methods).map(([method, handle]) =>
        deps.bus.serve(
          subjects.anyRpc(method),
          (data, subject) => handle(nodeOfSubject(subject), data).catch(throwForNode),
          { queue: COORDINATOR_QUEUE },
        ),
      );
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      for (const subscription of served) subscription.stop();
    },
  };
}

// A node fails a run for an answer that is final: a database that is away for a moment must not be one.
function throwForNode(error: unknown): never {
  const { code } = databaseError(error);
  if (!retryable(code)) throw error;
  throw new MeshError(code, "the coordinator cannot reach its database; ask again", { cause: error });
}

interface KnownNode {
  readonly id: string;
  readonly name: string;
  readonly slots: number;
  readonly draining: boolean;
}

async function knownNode(sql: Sql, digest: string): Promise<KnownNode | undefined> {
  const rows = await sql<
    KnownNode[]
  >`SELECT id, name, slots, draining FROM nodes WHERE digest = ${digest} AND removed_at IS NULL`;
  return rows[0];
}

async function hello(deps: NodeRpcDeps, digest: string, request: Hello): Promise<HelloAnswer> {
  const node = await knownNode(deps.store.sql, digest);
  const place = {
    node_id: node?.id ?? "",
    name: node?.name ?? "",
    draining: node?.draining ?? false,
    slots: node?.slots ?? 0,
    heartbeat_ms: HEARTBEAT_MS,
  };
  if (node === undefined) return { ...place, runs: [], refused: "removed" };
  if (request.protocol !== PROTOCOL) return { ...place, runs: [], refused: "protocol" };
  await updateFacts(
    deps.store.sql,
    node.id,
    parseFacts(request.facts_json),
    storableText(request.version.slice(0, 64)),
  );
  await deps.prepareNode(digest, node.slots);
  const runs = await deps.store.sql.begin(async (tx) => {
    await recordHello(tx, node.id, request.boot_id);
    return renew(tx, heldBy(node.id, request.runs));
  });
  const known = new Map(
    runs.filter((run) => run.node_id === node.id).map((run) => [`${run.id}:${run.lease_epoch}`, run]),
  );
  deps.fleetChanged();
  return {
    ...place,
    runs: request.runs.map((run) => toLease(run.run_id, run.epoch, known.get(`${run.run_id}:${run.epoch}`))),
    refused: "",
  };
}

function parseFacts(text: string): Record<string, unknown> {
  if (text.length > MAX_FACTS_BYTES)
    throw new MeshError("invalid_argument", `facts are larger than ${MAX_FACTS_BYTES} bytes`);
  try {
    const parsed: unknown = JSON.parse(text === "" ? "{}" : text, storableValue);
    return isObject(parsed) ? parsed : {};
  } catch {
    throw new MeshError("invalid_argument", "facts are not JSON");
  }
}

// A digest is unguessable and only told to nodes that got work from it, but a node still gets only the bundles of runs it holds.
async function bundle(sql: Sql, digest: string, request: BundleChunkRequest): Promise<BundleChunk> {
  const rows = await sql<{ total: number; bytes: Buffer }[]>`
    SELECT b.size_bytes AS total, substring(b.bytes FROM ${request.offset + 1}::int FOR ${CHUNK_BYTES}) AS bytes
    FROM bundles b WHERE b.digest = ${request.digest} AND EXISTS (
      SELECT 1 FROM runs r JOIN nodes n ON n.id = r.node_id
      WHERE r.bundle_digest = b.digest AND n.digest = ${digest} AND n.removed_at IS NULL
        AND r.state IN ('placed', 'accepted', 'running'))`;
  const row = rows[0];
  if (row === undefined) throw new MeshError("not_found", `no bundle ${request.digest} for this device`);
  return { total_bytes: row.total, bytes: row.bytes };
}

async function savedPart(sql: Sql, digest: string, request: StateRequest): Promise<StatePart> {
  const { run_id: runId, epoch } = request;
  const part = await readSavedPart(sql, { runId, epoch, digest }, Math.min(request.part, MAX_PARTS));
  if (part === undefined) throw new MeshError("failed_precondition", `this device does not hold run ${runId}`);
  return part;
}

async function secrets(deps: NodeRpcDeps, digest: string, request: SecretsRequest): Promise<SecretsAnswer> {
  const rows = await deps.store.sql<{ workspace_id: string; assistant_id: string; connector: string | null }[]>`
    SELECT r.workspace_id, r.assistant_id, r.options ->> 'connector' AS connector FROM runs r JOIN nodes n ON n.id = r.node_id
    WHERE r.id = ${request.run_id} AND r.lease_epoch = ${request.epoch} AND n.digest = ${digest} AND n.removed_at IS NULL
      AND r.state IN ('placed', 'accepted', 'running')`;
  const run = rows[0];
  if (run === undefined) throw new MeshError("failed_precondition", `this device does not hold run ${request.run_id}`);
  return deps.secrets({ workspaceId: run.workspace_id, assistantId: run.assistant_id, connector: run.connector ?? "" });
}
