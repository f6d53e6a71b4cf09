/** What a scripted model says and how it misbehaves, whatever wire format carries it. */

/** One tool call of a reply. */
export interface ScriptedToolCall {
  readonly name: string;
  /** Default call_1, call_2, ... */
  readonly id?: string;
  /** JSON text, or a list of the pieces it is streamed in. */
  readonly arguments: string | readonly string[];
}

/** One scripted answer; every field is optional, the empty reply says nothing and finishes well. */
export interface Reply {
  /** A list is streamed piece by piece; a string word by word. */
  readonly text?: string | readonly string[];
  readonly thinking?: string | readonly string[];
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** Default stop, or tool_calls with tool calls; null sends none. */
  readonly finishReason?: string | null;
  /** Default counted in words; null sends none. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;

  /** Wait before the status line. */
  readonly headersMs?: number;
  /** Wait before the first byte of the body. */
  readonly firstByteMs?: number;
  /** Wait between two writes. */
  readonly betweenMs?: number;

  /** Bytes per write; absent writes event by event. */
  readonly chunkBytes?: number;
  readonly crlf?: boolean;
  /** Puts a comment before each event. */
  readonly comments?: boolean;
  /** Default true: the stream ends with the marker of its protocol, if it has one. */
  readonly endMarker?: boolean;

  /** What happens once the body (or its first `cutAfterBytes`) was written: default end. */
  readonly ending?: "end" | "close" | "reset" | "hang";
  readonly cutAfterBytes?: number;

  /** A failing or odd answer: status, headers and body as they are. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the body, in whatever format. */
  readonly body?: string | Uint8Array;
}

/** One request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; undefined when it is not a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  readonly model: string;
  /** The client went away before the answer was complete. */
  readonly wasAborted: boolean;
  /** The answer was written to its end. */
  readonly wasAnswered: boolean;
}

/** A reply, or one computed from the request. */
export type ReplySource = Reply | ((request: SeenRequest) => Reply);

/** Which requests a rule is for: a model's name, or any test of the request. */
export type Matcher = string | ((request: SeenRequest) => boolean);

/** Chooses replies: queued ones first, in order; then the newest rule that matches; then the default. */
export class Script {
  readonly #queue: ReplySource[] = [];
  readonly #rules: { readonly matches: (request: SeenRequest) => boolean; readonly reply: ReplySource }[] = [];
  #fallback: ReplySource = echo;

  enqueue(...replies: readonly ReplySource[]): void {
    this.#queue.push(...replies);
  }

  on(matcher: Matcher, reply: ReplySource): void {
    const matches = typeof matcher === "string" ? (request: SeenRequest) => request.model === matcher : matcher;
    this.#rules.unshift({ matches, reply });
  }

  default(reply: ReplySource): void {
    this.#fallback = reply;
  }

  /** How many queued replies were not used. */
  get queued(): number {
    return this.#queue.length;
  }

  next(request: SeenRequest): Reply {
    const source = this.#queue.shift() ?? this.#rules.find((rule) => rule.matches(request))?.reply ?? this.#fallback;
    return typeof source === "function" ? source(request) : source;
  }
}

/** The pieces in which a text is streamed. */
export function pieces(text: string | readonly string[] | undefined): readonly string[] {
  if (text === undefined) return [];
  return typeof text === "string" ? (text.match(/\s*\S+(?:\s+$)?/g) ?? (text === "" ? [] : [text])) : text;
}

/** The text of the last message with this role, in the shape that all chat protocols share. */
export function lastText(request: SeenRequest, role: string): string {
  const messages = request.json?.["messages"];
  if (!Array.isArray(messages)) return "";
  const last = (messages as readonly { readonly role?: unknown; readonly content?: unknown }[]).findLast(
    (message) => message.role === role,
  );
  return typeof last?.content === "string" ? last.content : "";
}

function echo(request: SeenRequest): Reply {
  return { text: `You said: ${lastText(request, "user")}` };
}
