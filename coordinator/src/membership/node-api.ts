/** NodeService: what people do with devices. */

import { type Bus, subjects } from "@mesh/bus";
import { type Ids, MeshError } from "@mesh/kernel";
import { Command, type Node, type UpdateNodeRequest } from "@mesh/proto";
import { insertAudit, type Sql, type Store, type Tx } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call, NodeApi } from "../gateway/operation.ts";
import { lockPlacement } from "../runs/dispatch-store.ts";
import { takeFromRemoved } from "../runs/sweep-store.ts";
import { createJoinToken, type EnrolmentDeps, joinNode, renewNode } from "./enrolment.ts";
import { requireManage, workspacesOf } from "./node-access.ts";
import { checkLabels, checkName } from "./node-name.ts";
import { findNode, listNodes, lockNodes, type NodePatch, type NodeRow, updateNode } from "./node-store.ts";
import { toNode } from "./node-view.ts";

const DEFAULT_TOKEN_S = 900;

/** What the handlers use. */
export interface NodeApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly enrolment: EnrolmentDeps;
  readonly bus: Bus;
  readonly ids: Ids;
  /** Address of the gateway for devices, for the command shown to people. */
  readonly publicUrl: () => string;
  /** Pushes the newest revocations and removes the node's consumer, now or as soon as NATS can be reached. */
  readonly cutOff: (digest: string) => Promise<void>;
  readonly fleetChanged: () => void;
  readonly committed: (runIds: readonly string[]) => void;
}

/** Builds the handlers. */
export function createNodeApi(deps: NodeApiDeps): NodeApi {
  return {
    createJoinToken: async (request, call) => {
      const workspaceIds = await workspacesOf(deps.access, call.caller, request.workspace_ids);
      const spec = {
        ttlMs: (request.ttl_seconds || DEFAULT_TOKEN_S) * 1000,
        uses: request.uses || 1,
        labels: request.labels,
        workspaceIds,
        actor: actorOf(call.caller),
      };
      const { token, expiresAt } = await createJoinToken(deps.enrolment, spec);
      return { token, expires_at: expiresAt, command: `yao node join ${deps.publicUrl()} --token ${token}` };
    },
    joinNode: async (request) => {
      const joined = await joinNode(deps.enrolment, request);
      deps.fleetChanged();
      return joined;
    },
    renewNode: async (request) => ({ credentials: await renewNode(deps.enrolment, request) }),
    listNodes: async () => ({ nodes: (await listNodes(deps.store.sql)).map(toNode) }),
    getNode: async (request) => ({ node: toNode(await mustFind(deps, request.node)) }),
    updateNode: async (request, call) => ({ node: await update(deps, request, call) }),
    drainNode: async (request, call) => ({
      node: await setDraining(deps, request.node, { draining: true, deadlineSeconds: request.deadline_seconds }, call),
    }),
    undrainNode: async (request, call) => ({
      node: await setDraining(deps, request.node, { draining: false, deadlineSeconds: 0 }, call),
    }),
    removeNode: async (request, call) => {
      await remove(deps, request.node, call);
      return {};
    },
  };
}

async function mustFind(deps: NodeApiDeps, ref: string, sql: Sql | Tx = deps.store.sql): Promise<NodeRow> {
  const row = await findNode(sql, ref);
  if (row === undefined) throw new MeshError("not_found", `device "${ref}" is not known; see yao node list`);
  return row;
}

/** The device, if the caller may change it. */
async function mustManage(deps: NodeApiDeps, ref: string, call: Call): Promise<NodeRow> {
  const row = await mustFind(deps, ref);
  await requireManage(deps.access, call.caller, row);
  return row;
}

async function update(deps: NodeApiDeps, request: UpdateNodeRequest, call: Call): Promise<Node> {
  const { id, digest } = await mustManage(deps, request.node, call);
  const patch = await toPatch(deps, request, call);
  await deps.store.sql.begin(async (tx) => {
    await lockNodes(tx);
    const row = await mustFind(deps, id, tx);
    const taken = patch.name === undefined ? undefined : await findNode(tx, patch.name);
    if (taken !== undefined && taken.id !== id)
      throw new MeshError("already_exists", `another device is named "${taken.name}"; choose another name`);
    const labels = Object.fromEntries(
      Object.entries({ ...row.labels, ...request.labels }).filter(([, value]) => value !== ""),
    );
    checkLabels(labels);
    await updateNode(tx, id, { ...patch, labels });
    await audit(deps, tx, { action: "node.update", row, call, detail: { ...patch, labels } });
  });
  deps.fleetChanged();
  poke(deps, digest);
  const row = await mustFind(deps, id);
  // The change is made; what NATS missed of it is made up for by reconciling.
  if (patch.slots !== undefined) await deps.enrolment.prepareNode(digest, row.slots).catch(() => undefined);
  return toNode(row);
}

async function toPatch(deps: NodeApiDeps, request: UpdateNodeRequest, call: Call): Promise<NodePatch> {
  if (request.slots === 0) {
    throw new MeshError("invalid_argument", "a device has at least 1 slot; to give it no work: yao node drain");
  }
  const isRenamed = request.name !== undefined && request.name !== "";
  return {
    ...(isRenamed ? { name: checkName(request.name) } : {}),
    ...(request.slots === undefined ? {} : { slots: request.slots }),
    ...(request.workspace_ids === undefined
      ? {}
      : { workspaceIds: await toServed(deps, request.workspace_ids.ids, request.node, call) }),
  };
}

async function toServed(
  deps: NodeApiDeps,
  refs: readonly string[],
  name: string,
  call: Call,
): Promise<readonly string[]> {
  if (refs.length > 0) return workspacesOf(deps.access, call.caller, refs);
  await requireManage(deps.access, call.caller, { name, workspace_ids: [] });
  return [];
}

async function setDraining(
  deps: NodeApiDeps,
  ref: string,
  wish: { draining: boolean; deadlineSeconds: number },
  call: Call,
): Promise<Node> {
  const row = await mustManage(deps, ref, call);
  const seconds = wish.draining && wish.deadlineSeconds > 0 ? wish.deadlineSeconds : null;
  await deps.store.sql.begin(async (tx) => {
    await tx`
      UPDATE nodes SET draining = ${wish.draining}, drain_deadline_at = now() + ${seconds}::int * interval '1 s'
      WHERE id = ${row.id}`;
    const action = wish.draining ? "node.drain" : "node.undrain";
    await audit(deps, tx, { action, row, call, detail: { deadline_seconds: seconds } });
  });
  tellDraining(deps.bus, row.digest, wish.draining, false);
  deps.fleetChanged();
  return toNode(await mustFind(deps, row.id));
}

async function remove(deps: NodeApiDeps, ref: string, call: Call): Promise<void> {
  const row = await mustManage(deps, ref, call);
  const touched = await deps.store.sql.begin(async (tx) => {
    // Nothing may be placed on it meanwhile.
    await lockPlacement(tx);
    await tx`UPDATE nodes SET removed_at = now() WHERE id = ${row.id}`;
    await tx`DELETE FROM node_liveness WHERE node_id = ${row.id}`;
    const runs = await takeFromRemoved(tx, row);
    await audit(deps, tx, { action: "node.remove", row, call, detail: { runs: runs.length } });
    return runs;
  });
  deps.committed(touched);
  deps.fleetChanged();
  await deps.cutOff(row.digest);
}

/** Tells a node to start or end draining; `handBack` takes the running work back. */
export function tellDraining(bus: Bus, digest: string, draining: boolean, handBack: boolean): void {
  const command: Command["command"] = { $case: "drain", value: { draining, hand_back: handBack } };
  bus.publish(subjects.command(digest), Command.encode({ command }).finish());
}

function poke(deps: NodeApiDeps, digest: string): void {
  deps.bus.publish(subjects.command(digest), Command.encode({ command: { $case: "poke", value: {} } }).finish());
}

/** One audit entry about a node. */
interface NodeChange {
  readonly action: string;
  readonly row: NodeRow;
  readonly call: Call;
  readonly detail: object;
}

async function audit(deps: NodeApiDeps, tx: Tx, change: NodeChange): Promise<void> {
  const { action, row, call, detail } = change;
  const actor = actorOf(call.caller);
  await insertAudit(tx, {
    id: deps.ids.next("audit"),
    actor,
    action,
    object: row.id,
    detail: { name: row.name, ...detail },
  });
}
