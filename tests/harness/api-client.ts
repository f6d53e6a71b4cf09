/** Plain fetch against the gateway, as a user's program would do it. */

/** An answer that was not a success. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly problem: Record<string, unknown>;

  constructor(status: number, problem: Record<string, unknown>) {
    super(`${status} ${String(problem["code"] ?? "")}: ${String(problem["detail"] ?? "")}`);
    this.status = status;
    this.problem = problem;
  }
}

/** One event of a run. */
export interface SeenEvent {
  readonly seq: number;
  readonly epoch: number;
  readonly kind: string;
  readonly data: Record<string, unknown>;
}

/** Calls of one token against one coordinator. */
export class ApiClient {
  url: string;
  readonly token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.token = token;
  }

  /** Sends JSON and returns the parsed answer; throws ApiProblem. */
  async call<T = Record<string, unknown>>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const isBytes = body instanceof Uint8Array;
    const response = await fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": isBytes ? "application/octet-stream" : "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    if (!response.ok) throw new ApiProblem(response.status, parsed);
    return parsed as T;
  }

  /** Reads a run's stream from a cursor until it ends; one connection, no resuming. */
  async *stream(runId: string, afterSeq = 0, signal?: AbortSignal): AsyncGenerator<SeenEvent> {
    const response = await fetch(`${this.url}/v1/runs/${runId}/events`, {
      headers: { authorization: `Bearer ${this.token}`, accept: "text/event-stream", "last-event-id": String(afterSeq) },
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status === 204) return;
    if (!response.ok || response.body === null) throw new ApiProblem(response.status, { detail: await response.text() });
    for await (const frame of frames(response.body)) {
      if (frame.event === "end") return;
      if (frame.data !== "" && frame.id !== "") yield JSON.parse(frame.data) as SeenEvent;
    }
    throw new Error("the stream was cut");
  }

  /** Reads a run to its end, resuming after every cut; fails when a seq is missing or comes twice. */
  async follow(runId: string, options: { readonly timeoutMs?: number; readonly onEvent?: (event: SeenEvent) => void } = {}): Promise<SeenEvent[]> {
    const events: SeenEvent[] = [];
    const end = performance.now() + (options.timeoutMs ?? 60_000);
    for (;;) {
      const cursor = events.at(-1)?.seq ?? 0;
      try {
        for await (const event of this.stream(runId, cursor, AbortSignal.timeout(Math.max(1, end - performance.now())))) {
          const expected = (events.at(-1)?.seq ?? 0) + 1;
          if (event.seq !== expected) throw new SeqError(`run ${runId}: seq ${event.seq} came where ${expected} was due`);
          events.push(event);
          options.onEvent?.(event);
        }
        return events;
      } catch (error) {
        if (error instanceof SeqError || performance.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }
}

class SeqError extends Error {}

async function* frames(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; event: string; data: string }> {
  const decoder = new TextDecoder();
  let buffer = "";
  for await (const chunk of body) {
    buffer += decoder.decode(chunk, { stream: true });
    for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
      const frame = { id: "", event: "message", data: "" };
      for (const line of buffer.slice(0, end).split("\n")) {
        if (line.startsWith("id: ")) frame.id = line.slice(4);
        if (line.startsWith("event: ")) frame.event = line.slice(7);
        if (line.startsWith("data: ")) frame.data += line.slice(6);
      }
      buffer = buffer.slice(end + 2);
      yield frame;
    }
  }
}
