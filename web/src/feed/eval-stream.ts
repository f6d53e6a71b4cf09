/** What happens in an eval: its results, and the eval itself when something else about it changes. */

import type { Eval, EvalResult } from "@mesh/proto";

import { isRecord } from "../api/error.ts";
import { EventStream, type EventStreamDeps } from "./event-stream.ts";
import type { SseEvent } from "./sse.ts";

/** One event. */
export type EvalEvent =
  | { readonly kind: "result"; readonly result: EvalResult }
  | { readonly kind: "eval"; readonly eval: Eval };

/** Follows one eval until it has ended; results come without what they said and did. */
export class EvalStream extends EventStream<EvalEvent> {
  constructor(deps: EventStreamDeps<EvalEvent>, id: string, cursor: number) {
    const kind = {
      pathOf: (after: number) => `/v1/evals/${encodeURIComponent(id)}/results?after_seq=${after}&brief=true`,
      read: (sse: SseEvent) => {
        const value = readEvalEvent(sse);
        // The eval as it is has no place of its own in the log.
        return value && { value, seq: value.kind === "result" ? value.result.seq : undefined };
      },
    };
    super(deps, kind, cursor);
  }
}

/** The event in an SSE event; undefined when it is something else. */
export function readEvalEvent({ event, data }: SseEvent): EvalEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const kind = event === "" ? value["kind"] : event;
  if (kind === "result" && typeof value["seq"] === "number" && typeof value["case_id"] === "string") {
    return { kind, result: value as unknown as EvalResult };
  }
  if (kind === "eval" && typeof value["id"] === "string" && typeof value["state"] === "string") {
    return { kind, eval: value as unknown as Eval };
  }
  return undefined;
}
