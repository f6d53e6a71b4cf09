/** Handlers for tests of the transports: each answers an empty message and is recorded, unless the test replaces it. */

import * as proto from "@mesh/proto";
import { type FollowRunResponse, Run, RunEvent } from "@mesh/proto";
import { readContract } from "@mesh/rpc";

import type { Api, Call } from "../operation.ts";
import { OPERATIONS } from "../operations.ts";

/** One call that reached a handler. */
export interface RecordedCall {
  readonly method: string;
  readonly request: unknown;
  readonly call: Call;
}

type Handlers = Record<string, (request: never, call: Call) => unknown>;

const RESPONSES = new Map(readContract().methods.map(({ name, response }) => [name, response]));

/** The response of a method with nothing set. */
function emptyResponse(method: string): unknown {
  const types = proto as unknown as Readonly<Record<string, { fromPartial(partial: object): unknown }>>;
  return types[RESPONSES.get(method) ?? ""]?.fromPartial({});
}

/** An Api that records; `handlers` replaces single methods by name. */
export function scriptedApi(handlers: Handlers = {}): { readonly api: Api; readonly calls: RecordedCall[] } {
  const calls: RecordedCall[] = [];
  const services: Record<string, Record<string, unknown>> = {};
  for (const { service, method, streaming } of OPERATIONS) {
    (services[service] ??= {})[method] = (request: never, call: Call): unknown => {
      calls.push({ method, request, call });
      const handler = handlers[method];
      if (handler !== undefined) return handler(request, call);
      return streaming ? nothing() : Promise.resolve(emptyResponse(method));
    };
  }
  return { api: services as unknown as Api, calls };
}

async function* nothing(): AsyncGenerator<FollowRunResponse> {
  // Ends at once.
}

/** A run whose log can be written to while streams follow it. */
export class ScriptedRun {
  readonly #events: RunEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #ended = false;
  readonly id: string;

  constructor(id = "run_00000000000000000000000001") {
    this.id = id;
  }

  /** Number of streams that wait for more. */
  get followers(): number {
    return this.#waiting.size;
  }

  emit(kind: string, data: Record<string, unknown> = {}): void {
    const seq = this.#events.length + 1;
    this.#events.push(
      RunEvent.fromPartial({ run_id: this.id, seq, epoch: 1, at: "2026-01-01T00:00:00.000Z", kind, data }),
    );
    this.#wake();
  }

  end(): void {
    this.emit("run.finished");
    this.#ended = true;
    this.#wake();
  }

  readonly handlers: Handlers = {
    getRun: () =>
      Promise.resolve({
        run: Run.fromPartial({
          id: this.id,
          state: this.#ended ? "succeeded" : "running",
          last_seq: this.#events.length,
        }),
      }),
    followRun: (request: { after_seq: number }, call: Call) => this.#follow(request.after_seq, call.signal),
  };

  async *#follow(afterSeq: number, signal: AbortSignal): AsyncGenerator<FollowRunResponse> {
    let seq = afterSeq;
    while (!signal.aborted) {
      const event = this.#events[seq];
      if (event !== undefined) {
        seq += 1;
        yield { event };
      } else if (this.#ended) {
        return;
      } else {
        await this.#more(signal);
      }
    }
  }

  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
