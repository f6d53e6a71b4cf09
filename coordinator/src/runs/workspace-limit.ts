/**
 * What workspaces allow themselves, as one placement pass sees it.
 *
 * M1  A workspace never has more runs on devices than its limit: passes are serialized, and each counts what it places.
 * M2  Runs over the day's limit are refused, not queued.
 * M3  Devices that a workspace leaves out are, for its runs, devices that do not serve it.
 */

import { MeshError } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import type { Decision } from "../placement/placement.ts";
import type { StoredSettings } from "../workspaces/setting.ts";

interface LimitRow {
  readonly id: string;
  readonly name: string;
  readonly settings: StoredSettings;
  readonly active: number;
  readonly today: number;
}

/** A device as far as limits go. */
interface LimitedNode {
  readonly id: string;
  readonly workspaceIds: readonly string[];
}

/** No workspace has this id. */
const NOBODY: readonly string[] = [""];

/** Reads the limits of all workspaces that have some; the runs of a day are counted only for those that create now. */
export async function loadLimits(tx: Tx, creating: readonly string[]): Promise<WorkspaceLimits> {
  // Counted from the index of runs that are on devices, and only when a workspace asks: never from all its runs.
  const rows = await tx<LimitRow[]>`
    WITH active AS MATERIALIZED (
      SELECT workspace_id, count(*)::int AS runs FROM runs
      WHERE state IN ('placed', 'accepted', 'running') GROUP BY workspace_id
    )
    SELECT w.id, w.name, w.settings,
      CASE WHEN w.settings ? 'max_active_runs'
        THEN coalesce((SELECT a.runs FROM active a WHERE a.workspace_id = w.id), 0) ELSE 0 END AS active,
      CASE WHEN w.settings ? 'max_runs_per_day' AND w.id = ANY (${[...creating]}) THEN (
        SELECT count(*) FILTER (WHERE n.created_at > now() - interval '24 hours')::int FROM (
          SELECT r.created_at FROM runs r WHERE r.workspace_id = w.id AND r.eval_id IS NULL
          ORDER BY r.id DESC LIMIT (w.settings ->> 'max_runs_per_day')::int
        ) n
      ) ELSE 0 END AS today
    FROM workspaces w WHERE w.settings ?| ARRAY['node_ids', 'max_active_runs', 'max_runs_per_day']`;
  return new WorkspaceLimits(rows);
}

/** The limits of one pass; counts what the pass creates and places. */
export class WorkspaceLimits {
  readonly #rows: ReadonlyMap<string, LimitRow>;
  readonly #placed = new Map<string, number>();
  readonly #created = new Map<string, number>();

  constructor(rows: readonly LimitRow[]) {
    this.#rows = new Map(rows.map((row) => [row.id, row]));
  }

  /** How many more runs of a workspace may be on devices now. */
  room(workspaceId: string): number {
    const row = this.#rows.get(workspaceId);
    const max = row?.settings.max_active_runs;
    if (row === undefined || max === undefined) return Infinity;
    return Math.max(0, max - row.active - (this.#placed.get(workspaceId) ?? 0));
  }

  /** The decision for a run of a workspace that has no room. */
  waiting(workspaceId: string): Decision {
    const row = this.#rows.get(workspaceId);
    const max = row?.settings.max_active_runs ?? 0;
    return {
      kind: "wait",
      reason: `waiting: workspace ${row?.name ?? ""} allows itself ${runs(max)} at once, and that many are going`,
      verdicts: [],
    };
  }

  /** Counts a run that was placed. */
  place(workspaceId: string): void {
    this.#placed.set(workspaceId, (this.#placed.get(workspaceId) ?? 0) + 1);
  }

  /** Counts a run that is created, or gives why it may not be. */
  create(workspaceId: string): MeshError | undefined {
    const row = this.#rows.get(workspaceId);
    const max = row?.settings.max_runs_per_day;
    if (row === undefined || max === undefined) return undefined;
    const created = this.#created.get(workspaceId) ?? 0;
    if (row.today + created >= max) {
      return new MeshError(
        "resource_exhausted",
        `workspace ${row.name} allows itself ${runs(max)} within 24 hours and has started that many; an owner can raise max_runs_per_day`,
        { details: { violated: "max_runs_per_day" } },
      );
    }
    this.#created.set(workspaceId, created + 1);
    return undefined;
  }

  /** Gives the devices as the runs of a workspace may see them. */
  nodesFor<Node extends LimitedNode>(nodes: readonly Node[]): (workspaceId: string) => readonly Node[] {
    const views = new Map<string, readonly Node[]>();
    return (workspaceId) => {
      const allowed = this.#rows.get(workspaceId)?.settings.node_ids;
      if (allowed === undefined) return nodes;
      const ids = new Set(allowed);
      // The allowed ones stay the same objects: what the pass counts on them is seen here too.
      const view =
        views.get(workspaceId) ?? nodes.map((node) => (ids.has(node.id) ? node : { ...node, workspaceIds: NOBODY }));
      views.set(workspaceId, view);
      return view;
    };
  }
}

function runs(count: number): string {
  return count === 1 ? "one run" : `${count} runs`;
}
