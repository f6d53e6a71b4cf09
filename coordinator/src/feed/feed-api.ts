/** FeedService: the changes of a workspace, as a stream and as pages. */

import { type Clock, MeshError } from "@mesh/kernel";
import type { FeedEvent, FollowFeedRequest, FollowFeedResponse } from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { Call, FeedApi } from "../gateway/operation.ts";
import { feedBounds, type FeedBounds, type FeedRow, listFeed } from "./feed-store.ts";
import type { FeedTail } from "./feed-tail.ts";

/** What the handlers use. */
export interface FeedApiDeps {
  readonly store: Pick<Store, "sql">;
  readonly access: Access;
  readonly tail: FeedTail;
  readonly clock: Clock;
}

const DEFAULT_PAGE = 200;
/** A lost membership ends a stream after so long. */
const RECHECK_MS = 15_000;

/** Builds the handlers. */
export function createFeedApi(deps: FeedApiDeps): FeedApi {
  return {
    followFeed: (request, call) => followFeed(deps, request, call),
    listFeed: async ({ workspace: ref, after_seq: afterSeq, limit }, call) => {
      const workspace = await deps.access.workspace(call.caller, ref, "read");
      const bounds = await mustFindBounds(deps, workspace.id);
      if (!isKept(bounds, afterSeq)) return { events: [reset(workspace.id, bounds)], last_seq: bounds.lastSeq };
      const rows = await listFeed(deps.store.sql, workspace.id, afterSeq, limit === 0 ? DEFAULT_PAGE : limit);
      return { events: rows.map(toFeedEvent), last_seq: rows.at(-1)?.seq ?? afterSeq };
    },
  };
}

async function* followFeed(
  deps: FeedApiDeps,
  request: FollowFeedRequest,
  call: Call,
): AsyncGenerator<FollowFeedResponse> {
  const workspace = await deps.access.workspace(call.caller, request.workspace, "read");
  let cursor = request.after_seq;
  let checkedMs = deps.clock.monotonic();
  for (;;) {
    const bounds = await mustFindBounds(deps, workspace.id);
    if (!isKept(bounds, cursor)) {
      cursor = bounds.lastSeq;
      yield { event: reset(workspace.id, bounds) };
    }
    for await (const rows of deps.tail.follow(workspace.id, cursor, call.signal)) {
      // Events were dropped under a reader that was away for days in the middle of a page.
      if (rows[0] !== undefined && rows[0].seq !== cursor + 1) break;
      cursor = rows.at(-1)?.seq ?? cursor;
      for (const row of rows) yield { event: toFeedEvent(row) };
      if (deps.clock.monotonic() - checkedMs < RECHECK_MS) continue;
      checkedMs = deps.clock.monotonic();
      await deps.access.workspace(call.caller, workspace.id, "read");
    }
    if (call.signal.aborted) return;
  }
}

async function mustFindBounds(deps: FeedApiDeps, workspaceId: string): Promise<FeedBounds> {
  const bounds = await feedBounds(deps.store.sql, workspaceId);
  if (bounds === undefined) throw new MeshError("not_found", "this workspace was deleted; see: yao workspace list");
  return bounds;
}

// A cursor that the feed has not reached belongs to another system: it is told to begin anew, like one that is too old.
function isKept({ firstSeq, lastSeq }: FeedBounds, afterSeq: number): boolean {
  return afterSeq >= firstSeq - 1 && afterSeq <= lastSeq;
}

/** Says: read everything again, then go on from here. */
function reset(workspaceId: string, { firstSeq, lastSeq, at }: FeedBounds): FeedEvent {
  return { seq: lastSeq, at: at.toISOString(), kind: "reset", object: workspaceId, data: { first_seq: firstSeq } };
}

function toFeedEvent({ seq, at, kind, object, data }: FeedRow): FeedEvent {
  return { seq, at: at.toISOString(), kind, object, data: JSON.parse(data) as Record<string, unknown> };
}
