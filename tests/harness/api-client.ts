/** Plain fetch against the gateway, as a user's program would do it. */

/** The body of a refusal. */
export interface Problem {
  readonly type?: string;
  readonly title?: string;
  readonly status?: number;
  readonly code?: string;
  readonly detail?: string;
  readonly request_id?: string;
  readonly errors?: readonly { readonly field: string; readonly message: string }[];
  readonly details?: Readonly<Record<string, unknown>>;
}

/** An answer that was not a success. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(status: number, problem: Problem) {
    super(`${status} ${problem.code ?? ""}: ${problem.detail ?? ""}`);
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

/** How a run is read. */
export interface FollowOptions {
  readonly timeoutMs?: number;
  readonly onEvent?: (event: SeenEvent) => void;
}

/** Calls of one token against one coordinator. */
export class ApiClient {
  url: string;
  readonly token: string;
  readonly #fetch: typeof fetch;

  /** `send` replaces the fetch of this process, for certificates it does not know. */
  constructor(url: string, token: string, send: typeof fetch = fetch) {
    this.url = url;
    this.token = token;
    this.#fetch = send;
  }

  /** Sends JSON and returns the parsed answer; throws ApiProblem. */
  async call<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const isBytes = body instanceof Uint8Array;
    const response = await this.#fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": isBytes ? "application/octet-stream" : "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const parsed = parse(await response.text());
    if (!response.ok) throw new ApiProblem(response.status, parsed);
    return parsed as T;
  }

  /** Reads a run's stream from a cursor until it ends; one connection, no resuming. */
  async *stream(runId: string, afterSeq = 0, signal?: AbortSignal): AsyncGenerator<SeenEvent> {
    const response = await this.#fetch(`${this.url}/v1/runs/${runId}/events`, {
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: "text/event-stream",
        "last-event-id": String(afterSeq),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status === 204) return;
    if (!response.ok || response.body === null) {
      throw new ApiProblem(response.status, parse(await response.text()));
    }
    for await (const frame of frames(response.body)) {
      if (frame.event === "end") return;
      if (frame.data !== "" && frame.id !== "") yield JSON.parse(frame.data) as SeenEvent;
    }
    throw new Error("the stream was cut");
  }

  /** Reads a run to its end, resuming after every cut; fails when a seq is missing or comes twice. */
  async follow(runId: string, options: FollowOptions = {}): Promise<SeenEvent[]> {
    const events: SeenEvent[] = [];
    const limit = AbortSignal.timeout(options.timeoutMs ?? 60_000);
    for (;;) {
      try {
        for await (const event of this.stream(runId, events.at(-1)?.seq ?? 0, limit)) {
          const expected = (events.at(-1)?.seq ?? 0) + 1;
          if (event.seq !== expected)
            throw new SeqError(`run ${runId}: seq ${event.seq} came where ${expected} was due`);
          events.push(event);
          options.onEvent?.(event);
        }
        return events;
      } catch (error) {
        if (limit.aborted || !isCut(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  /** All events of a run from its JSON pages. */
  async pages(runId: string, limit = 500): Promise<SeenEvent[]> {
    const events: SeenEvent[] = [];
    for (;;) {
      const after = events.at(-1)?.seq ?? 0;
      const path = `/v1/runs/${runId}/events?after_seq=${after}&limit=${limit}`;
      const page = await this.call<{ events: SeenEvent[]; last_seq: number; ended: boolean }>("GET", path);
      events.push(...page.events);
      if (page.ended || page.events.length === 0) return events;
    }
  }
}

/** The refusal a call ended with; fails when it succeeded. */
export async function refusalOf(call: Promise<unknown>): Promise<ApiProblem> {
  try {
    await call;
  } catch (error) {
    if (error instanceof ApiProblem) return error;
    throw error;
  }
  throw new Error("the call was not refused");
}

class SeqError extends Error {}

// A break of the connection or a coordinator that is starting; everything else is an answer.
function isCut(error: unknown): boolean {
  if (error instanceof SeqError) return false;
  return !(error instanceof ApiProblem) || error.status >= 500;
}

function parse(text: string): Record<string, unknown> {
  if (text === "") return {};
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { detail: text };
  }
}

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
