/** Evals as the public interface tells them. Pure. */

import { isObject, rfc3339 } from "@mesh/kernel";
import type * as proto from "@mesh/proto";

import type { EvalDevice } from "./eval-device.ts";
import type { EvalNodeRow, ResultRow, ShownEval } from "./eval-read-store.ts";

/** What is known beside the row itself. */
export interface EvalSurroundings {
  /** The devices of the workspace, judged; empty for an eval that has ended. */
  readonly devices: readonly EvalDevice[];
  readonly parts: readonly EvalNodeRow[];
  /** Units that devices have now, by device. */
  readonly out: ReadonlyMap<string, number>;
}

const ALONE: EvalSurroundings = { devices: [], parts: [], out: new Map() };
/** What a brief result leaves out. */
const LONG_FIELDS: ReadonlySet<string> = new Set(["input", "output", "trace"]);

/** An eval, with its devices where `around` tells them. */
export function toEval(row: ShownEval, around: EvalSurroundings = ALONE): proto.Eval {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    assistant: row.assistant_id,
    app: row.app_name,
    bundle_digest: row.bundle_digest,
    state: row.state,
    reason: row.reason,
    placement: toPlacement(row.placement),
    settings: toSettings(row.settings),
    counts: {
      total: row.total,
      passed: row.passed,
      failed: row.failed,
      errors: row.errors,
      timeouts: row.timeouts,
      skipped: row.skipped,
      running: [...around.out.values()].reduce((sum, units) => sum + units, 0),
      observations: row.observations,
    },
    nodes: [...toNodes(around)],
    cases: row.cases,
    suite: row.suite,
    last_seq: row.last_seq,
    usage: row.usage,
    warnings: [...row.warnings],
    created_by: row.created_by,
    created_at: rfc3339(row.created_at.getTime()),
    ...(row.started_at === null ? {} : { started_at: rfc3339(row.started_at.getTime()) }),
    ...(row.finished_at === null ? {} : { finished_at: rfc3339(row.finished_at.getTime()) }),
  };
}

/** A judged device that has no part yet. */
export function toPlannedNode({ id, name, os, arch, state, reason, slots }: EvalDevice): proto.EvalNode {
  return { node_id: id, name, os, arch, state, reason, slots, ...NO_PART };
}

const NO_PART = { running: 0, passed: 0, failed: 0, errors: 0, timeouts: 0, skipped: 0, infra_errors: 0 };

// Devices that could take part, and those that did.
function toNodes({ devices, parts, out }: EvalSurroundings): readonly proto.EvalNode[] {
  const judged = new Map(devices.map((device) => [device.id, device]));
  const nodes = parts.map((part): proto.EvalNode => {
    const { node_id: id, name, os, arch, slots, quarantined, ...counts } = part;
    const device = judged.get(id);
    judged.delete(id);
    const state = quarantined !== null ? "quarantined" : (device?.state ?? "");
    const reason = quarantined ?? device?.reason ?? "";
    return { node_id: id, name, os, arch, slots, state, reason, running: out.get(id) ?? 0, ...counts };
  });
  const others = [...judged.values()].map((device) => ({ ...toPlannedNode(device), running: out.get(device.id) ?? 0 }));
  return [...nodes, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function toPlacement(stored: ShownEval["placement"]): proto.EvalPlacement {
  const { mode = "spread", copies = 1, max_nodes = 0, nodes = [], labels = {} } = stored;
  return { mode, copies, max_nodes, nodes: [...nodes], labels: { ...labels } };
}

function toSettings(stored: ShownEval["settings"]): proto.EvalSettings {
  const { context, ...rest } = stored;
  return {
    runs: 1,
    parallel: 1,
    timeout_ms: 0,
    fail_fast: false,
    connector: "",
    user: "",
    team: "",
    locale: "",
    simulator: "",
    before_all: "",
    after_all: "",
    requests_per_minute: 0,
    ...rest,
    context: context ?? undefined,
  };
}

/** One row of the log; a brief one without input, output and trace. */
export function toResult(row: ResultRow, isBrief: boolean): proto.EvalResult {
  const { result, created_at: createdAt, ...rest } = row;
  const parsed: unknown = JSON.parse(result);
  const whole = isObject(parsed) ? parsed : {};
  return {
    ...rest,
    result: isBrief ? Object.fromEntries(Object.entries(whole).filter(([key]) => !LONG_FIELDS.has(key))) : whole,
    created_at: rfc3339(createdAt.getTime()),
  };
}
