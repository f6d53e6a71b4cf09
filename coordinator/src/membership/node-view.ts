/** A stored node as clients see it. */

import { isObject } from "@mesh/kernel";
import type { Node, NodeFacts, NodeLoad } from "@mesh/proto";

import { type NodeRow, statusOfRow } from "./node-store.ts";

/** Converts a row to the message of the public interface. */
export function toNode(row: NodeRow): Node {
  const status = statusOfRow(row);
  return {
    id: row.id,
    name: row.name,
    status,
    draining: row.draining,
    labels: row.labels,
    facts: toFacts(row.facts),
    slots: row.slots,
    slots_used: row.used,
    last_seen_at: row.seen_at?.toISOString(),
    created_at: row.created_at.toISOString(),
    workspace_ids: row.workspace_ids,
    drain_deadline_at: row.drain_deadline_at?.toISOString(),
    version: row.version,
    reason: reasonOf(row, status),
    load: row.load === null ? undefined : toLoad(row.load),
  };
}

function reasonOf(row: NodeRow, status: string): string {
  if (status === "offline") {
    if (row.seen_at === null) return "never seen; start it with: yao node run";
    return row.goodbye === true ? "stopped" : "no heartbeat";
  }
  if (row.draining) return row.used > 0 ? `draining: ${row.used} ${row.used === 1 ? "run" : "runs"} left` : "drained";
  return row.used >= row.slots ? "all slots in use" : "";
}

function toFacts(facts: Readonly<Record<string, unknown>>): NodeFacts {
  const tools = isObject(facts["tools"]) ? facts["tools"] : {};
  return {
    os: text(facts["os"]),
    arch: text(facts["arch"]),
    cpus: number(facts["cpus"]),
    memory_bytes: number(facts["memory_bytes"]),
    hostname: text(facts["hostname"]),
    node_version: text(facts["node_version"]),
    tools: Object.fromEntries(Object.entries(tools).map(([name, path]) => [name, text(path)])),
  };
}

function toLoad(load: Readonly<Record<string, unknown>>): NodeLoad {
  return {
    cpu: number(load["cpu"]),
    memory_free_bytes: number(load["memory_free_bytes"]),
    loop_lag_ms: number(load["loop_lag_ms"]),
    journal_unacked_bytes: number(load["journal_unacked_bytes"]),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
