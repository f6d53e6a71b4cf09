/** NodeService: what people do with devices. */

import { type Bus, subjects } from "@mesh/bus";
import { type Clock, type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import { Command, type Node, type UpdateNodeRequest } from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call, NodeApi } from "../gateway/operation.ts";
import { finishRuns } from "../runs/sweep-store.ts";
import { createJoinToken, type EnrolmentDeps, joinNode, renewNode } from "./enrolment.ts";
import { checkLabels, checkName } from "./node-name.ts";
import { findNode, listNodes, type NodeRow, updateNode } from "./node-store.ts";
import { toNode } from "./node-view.ts";

const DEFAULT_TOKEN_S = 900;

/** What the handlers use. */
export interface NodeApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly enrolment: EnrolmentDeps;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Address of the gateway for devices, for the command shown to people. */
  readonly publicUrl: () => string;
  /** Pushes the newest revocations and removes the node's consumer. */
  readonly cutOff: (digest: string) => Promise<void>;
  readonly fleetChanged: () => void;
  readonly committed: (runIds: readonly string[]) => void;
}

/** Builds the handlers. */
export function createNodeApi(deps: NodeApiDeps): NodeApi {
  return {
    createJoinToken: async (request, call) => {
      const workspaceIds: string[] = [];
      for (const ref of request.workspace_ids)
        workspaceIds.push((await deps.access.workspace(call.caller, ref, "write")).id);
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

async function mustFind(deps: NodeApiDeps, ref: string): Promise<NodeRow> {
  const row = await findNode(deps.store.sql, ref);
  if (row === undefined) throw new MeshError("not_found", `device "${ref}" is not known; see yao node list`);
  return row;
}

async function update(deps: NodeApiDeps, request: UpdateNodeRequest, call: Call): Promise<Node> {
  const row = await mustFind(deps, request.node);
  const labels = Object.fromEntries(
    Object.entries({ ...row.labels, ...request.labels }).filter(([, value]) => value !== ""),
  );
  checkLabels(labels);
  const name = request.name === undefined ? undefined : checkName(request.name);
  const patch = {
    labels,
    ...(name === undefined ? {} : { name }),
    ...(request.slots === undefined ? {} : { slots: request.slots }),
    ...(request.workspace_ids === undefined ? {} : { workspaceIds: request.workspace_ids.ids }),
  };
  await deps.store.sql.begin(async (tx) => {
    const taken = name === undefined ? undefined : await findNode(tx, name);
    if (taken !== undefined && taken.id !== row.id)
      throw new MeshError("already_exists", `another device is named "${name}"; choose another name`);
    await updateNode(tx, row.id, patch);
    await audit(deps, tx, { action: "node.update", row, call, detail: patch });
  });
  if (request.slots !== undefined) await deps.enrolment.prepareNode(row.digest, request.slots);
  deps.fleetChanged();
  poke(deps, row.digest);
  return toNode(await mustFind(deps, row.id));
}

async function setDraining(
  deps: NodeApiDeps,
  ref: string,
  wish: { draining: boolean; deadlineSeconds: number },
  call: Call,
): Promise<Node> {
  const row = await mustFind(deps, ref);
  const deadline =
    wish.draining && wish.deadlineSeconds > 0 ? rfc3339(deps.clock.now() + wish.deadlineSeconds * 1000) : null;
  await deps.store.sql.begin(async (tx) => {
    await tx`UPDATE nodes SET draining = ${wish.draining}, drain_deadline_at = ${deadline} WHERE id = ${row.id}`;
    await audit(deps, tx, { action: wish.draining ? "node.drain" : "node.undrain", row, call, detail: { deadline } });
  });
  tellDraining(deps.bus, row.digest, wish.draining, false);
  deps.fleetChanged();
  return toNode(await mustFind(deps, row.id));
}

async function remove(deps: NodeApiDeps, ref: string, call: Call): Promise<void> {
  const row = await mustFind(deps, ref);
  const ended = await deps.store.sql.begin(async (tx) => {
    await tx`UPDATE nodes SET removed_at = now() WHERE id = ${row.id}`;
    await tx`DELETE FROM node_liveness WHERE node_id = ${row.id}`;
    const held = await tx<{ id: string }[]>`
      SELECT id FROM runs WHERE node_id = ${row.id} AND state IN ('placed', 'accepted', 'running', 'waiting') ORDER BY id FOR UPDATE`;
    const ids = held.map((run) => run.id);
    await finishRuns(tx, ids, {
      state: "lost",
      code: "device_removed",
      message: `device ${row.name} was removed while it held this run`,
    });
    await audit(deps, tx, { action: "node.remove", row, call, detail: { runs: ids.length } });
    return ids;
  });
  deps.committed(ended);
  await deps.cutOff(row.digest);
  deps.fleetChanged();
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
