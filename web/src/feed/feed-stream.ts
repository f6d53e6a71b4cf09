/** The feed of a workspace: one stream of numbered changes, without end. */

import type { FeedEvent } from "@mesh/proto";

import { isRecord } from "../api/error.ts";
import { EventStream, type EventStreamDeps } from "./event-stream.ts";
import type { SseEvent } from "./sse.ts";

/** What the feed needs of the world, and whom it tells. */
export type FeedStreamDeps = Omit<EventStreamDeps<FeedEvent>, "onEnd" | "onRefused">;

/** Follows one workspace. */
export class FeedStream extends EventStream<FeedEvent> {
  constructor(deps: FeedStreamDeps, workspace: string, cursor: number) {
    const kind = {
      pathOf: (after: number) => `/v1/workspaces/${encodeURIComponent(workspace)}/feed?after_seq=${after}`,
      read: (sse: SseEvent) => {
        const value = readFeedEvent(sse);
        return value === undefined ? undefined : { value, seq: value.seq, isReset: value.kind === "reset" };
      },
    };
    super(deps, kind, cursor);
  }
}

/** The feed event in an SSE event; undefined when it is something else. */
export function readFeedEvent({ event, data }: SseEvent): FeedEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (isRecord(value) && isRecord(value["event"])) value = value["event"];
  if (!isRecord(value) || typeof value["seq"] !== "number") return undefined;
  const kind = typeof value["kind"] === "string" ? value["kind"] : event;
  return {
    seq: value["seq"],
    kind,
    at: typeof value["at"] === "string" ? value["at"] : "",
    object: typeof value["object"] === "string" ? value["object"] : "",
    data: isRecord(value["data"]) ? value["data"] : undefined,
  };
}
