/** Reading one eval with its devices, and following it. */

import type { Clock } from "@mesh/kernel";
import type { Eval, FollowEvalResponse } from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { Call } from "../gateway/operation.ts";
import { findEval, listEvalNodes, listResults, type ShownEval, unitsOut } from "./eval-read-store.ts";
import { devicesFor } from "./eval-service.ts";
import { isEnded, requireLogged } from "./eval-state.ts";
import type { EvalTail } from "./eval-tail.ts";
import { toEval, toResult } from "./eval-view.ts";
import { placementOf } from "./eval-wish.ts";

/** What following uses. */
export interface FollowDeps {
  readonly store: Pick<Store, "sql">;
  readonly access: Access;
  readonly clock: Clock;
  readonly tail: Pick<EvalTail, "open">;
}

const PAGE = 500;
/** The eval itself is looked at this often, however much is going on. */
const LOOK_MS = 500;
/** A lost membership ends a stream after so long. */
const RECHECK_MS = 15_000;

/** The eval as it is now. */
export async function readEval({ store: { sql } }: Pick<FollowDeps, "store">, row: ShownEval): Promise<Eval> {
  const parts = await listEvalNodes(sql, row.id);
  if (isEnded(row.state)) return toEval(row, { devices: [], parts, out: new Map() });
  const quarantined = new Map(
    parts.flatMap((part) => (part.quarantined === null ? [] : [[part.node_id, part.quarantined]])),
  );
  const joined = new Set(parts.map(({ node_id: id }) => id));
  const placement = placementOf({ mode: "", copies: 0, max_nodes: 0, nodes: [], labels: {}, ...toPlain(row) });
  const devices = await devicesFor(sql, { workspaceId: row.workspace_id, placement, quarantined, joined });
  const out = await unitsOut(sql, [row.id]);
  return toEval(row, { devices, parts, out: new Map(out.map(({ node_id: id, units }) => [id, units])) });
}

function toPlain({ placement }: ShownEval): Partial<Eval["placement"] & object> {
  return { ...placement, nodes: [...(placement.nodes ?? [])], labels: { ...placement.labels } };
}

/** Results after the cursor and changes of the eval; ends after the eval as it has ended, or when it is gone. */
export async function* followEval(
  deps: FollowDeps,
  row: ShownEval,
  request: { readonly after_seq: number; readonly brief: boolean },
  call: Call,
): AsyncGenerator<FollowEvalResponse> {
  requireLogged(row, request.after_seq);
  const { store, clock, tail } = deps;
  const news = tail.open(row.id);
  let cursor = request.after_seq;
  let told = "";
  let lookedMs = Number.NEGATIVE_INFINITY;
  let checkedMs = clock.monotonic();
  try {
    while (!call.signal.aborted) {
      // Read before the results: of an eval that has ended by then, none is missing in them.
      const now = await findEval(store.sql, row.id);
      if (now === undefined) return;
      const rows = await listResults(store.sql, { evalId: row.id, afterSeq: cursor, limit: PAGE });
      cursor = rows.at(-1)?.seq ?? cursor;
      for (const each of rows) yield { event: { $case: "result", value: toResult(each, request.brief) } };
      if (isEnded(now.state) && cursor >= now.last_seq) {
        yield { event: { $case: "eval", value: await readEval(deps, now) } };
        return;
      }
      const ms = clock.monotonic();
      if (ms - lookedMs >= LOOK_MS) {
        lookedMs = ms;
        const value = await readEval(deps, now);
        const text = changeText(value);
        if (text !== told) yield { event: { $case: "eval", value } };
        told = text;
      }
      if (ms - checkedMs >= RECHECK_MS) {
        checkedMs = ms;
        await deps.access.workspace(call.caller, row.workspace_id, "read");
      }
      if (rows.length === 0) await news.next(call.signal);
    }
  } finally {
    news.close();
  }
}

/** What of an eval no result tells. */
function changeText({ state, reason, warnings, counts, nodes }: Eval): string {
  const parts = nodes.map(({ node_id: id, state: each, reason: why, running }) => [id, each, why, running]);
  return JSON.stringify([state, reason, warnings, counts?.total, counts?.running, parts]);
}
