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
        // The eval as it is has no place in the log.
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
  const { kind, body } = opened(value, event);
  if (!isRecord(body)) return undefined;
  if (kind === "result" && typeof body["seq"] === "number" && typeof body["case_id"] === "string") {
    return { kind, result: body as unknown as EvalResult };
  }
  if (kind === "eval" && typeof body["id"] === "string" && typeof body["state"] === "string") {
    return { kind, eval: body as unknown as Eval };
  }
  return undefined;
}

/** A oneof is written as {result: …}, as {event: {$case, value}}, or alone under the event's name. */
function opened(value: unknown, name: string): { readonly kind: string; readonly body: unknown } {
  if (!isRecord(value)) return { kind: name, body: undefined };
  const inner = isRecord(value["event"]) ? value["event"] : value;
  if (typeof inner["$case"] === "string") return { kind: inner["$case"], body: inner["value"] };
  for (const kind of ["result", "eval"]) {
    // A result has a field of that name itself: what has a number is the result and not what holds it.
    if (isRecord(inner[kind]) && typeof inner["seq"] !== "number") return { kind, body: inner[kind] };
  }
  return { kind: name === "" && typeof inner["seq"] === "number" ? "result" : name, body: inner };
}
