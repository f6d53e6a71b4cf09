/**
 * What a person sees of a run: a pure function from its events to pieces of text.
 *
 * V1  Text of the assistant is shown once: deltas as they come, and of the whole message only what was not shown yet.
 * V2  A snapshot replaces what is known of its messages; what was already shown is not shown again.
 */

import { isObject } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";

/** One piece of output. `text` is the answer; the others are for a person who watches. */
export interface Piece {
  readonly kind: "text" | "thinking" | "status";
  readonly text: string;
}

interface Shown {
  kind: "text" | "thinking";
  text: string;
}

/** Remembers what was shown of one run. */
export class RunView {
  readonly #messages = new Map<string, Shown>();
  #open: string | undefined;
  #hasText = false;
  #lastStatus = "";

  /** Whether any text of the assistant was shown. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** The pieces to show for one event. */
  pieces(event: RunEvent): readonly Piece[] {
    const data: unknown = event.data;
    if (!isObject(data)) return [];
    if (event.kind === "message") return this.#message(data);
    if (event.kind === "snapshot") return messagesOf(data).flatMap((message) => this.#message(message));
    if (event.kind.startsWith("run.")) return this.#status(statusText(event.kind.slice("run.".length), data));
    return [];
  }

  /** Ends the line that is open. */
  end(): readonly Piece[] {
    const open = this.#open === undefined ? undefined : this.#messages.get(this.#open);
    this.#open = undefined;
    return open === undefined || open.text === "" || open.text.endsWith("\n") ? [] : [{ kind: open.kind, text: "\n" }];
  }

  #message(message: Readonly<Record<string, unknown>>): readonly Piece[] {
    const props = isObject(message["props"]) ? message["props"] : {};
    switch (message["type"]) {
      case "text":
      case "thinking":
        return this.#content(message["type"], message, props);
      case "tool_call":
        return this.#status(stringOf(props["name"]) === "" ? "" : `tool: ${stringOf(props["name"])}`);
      case "loading":
        return this.#status(props["done"] === true ? "" : stringOf(props["message"]));
      case "error":
        return [...this.end(), { kind: "status", text: `error: ${stringOf(props["message"])}` }];
      case "image":
      case "audio":
      case "video":
        return this.#line(`[${message["type"]}: ${stringOf(props["url"])}]`);
      default:
        return [];
    }
  }

  #content(
    kind: "text" | "thinking",
    message: Readonly<Record<string, unknown>>,
    props: Readonly<Record<string, unknown>>,
  ): readonly Piece[] {
    const content = stringOf(props["content"]);
    // Without an id each message stands alone.
    const id = stringOf(message["message_id"]) || `anonymous-${this.#messages.size}`;
    const before = this.#messages.get(id);
    const isAppended = message["delta"] === true && (message["delta_action"] ?? "append") === "append";
    const whole = isAppended ? (before?.text ?? "") + content : content;
    const known = before?.text ?? "";
    const turned = this.#open !== undefined && this.#open !== id ? this.end() : [];
    this.#messages.set(id, { kind, text: whole });
    if (whole === known) return turned;
    this.#open = id;
    if (kind === "text") this.#hasText = true;
    // What was printed cannot be taken back: a changed message is printed again on a line of its own.
    if (!whole.startsWith(known)) return [...turned, { kind, text: `\n${whole}` }];
    return [...turned, { kind, text: whole.slice(known.length) }];
  }

  #line(text: string): readonly Piece[] {
    const ended = this.end();
    this.#hasText = true;
    return [...ended, { kind: "text", text: `${text}\n` }];
  }

  #status(text: string): readonly Piece[] {
    if (text === "" || text === this.#lastStatus) return [];
    this.#lastStatus = text;
    return [...this.end(), { kind: "status", text }];
  }
}

// A snapshot holds either the messages as they stand, or is itself the message that stands.
function messagesOf(data: Readonly<Record<string, unknown>>): readonly Readonly<Record<string, unknown>>[] {
  const messages = data["messages"];
  const all: readonly unknown[] = Array.isArray(messages) ? messages : [data];
  return all.filter(isObject).map((message) => ({ ...message, delta: false }));
}

function statusText(change: string, data: Readonly<Record<string, unknown>>): string {
  const reason = stringOf(data["reason"]);
  const node = stringOf(data["node"]) || stringOf(data["node_name"]);
  switch (change) {
    case "queued":
      return reason === "" ? "" : `queued: ${reason}`;
    case "waiting":
      return reason.startsWith("waiting") ? reason : `waiting: ${reason}`;
    case "placed":
      return node === "" ? reason : `placed on ${node}`;
    case "started":
    case "running":
      return node === "" ? "running" : `running on ${node}`;
    case "answered":
      return `answered by ${stringOf(data["by"])}: ${stringOf(data["decision"])}`;
    default:
      // The end is told from the run itself.
      return "";
  }
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
