/** What the events of a task's run add to its conversation. Pure. */

import { isObject } from "@mesh/kernel";

import { parseBody, toMessage } from "../runs/event-view.ts";
import { RUN_EVENT } from "../runs/run-state.ts";
import { nameOf } from "./actor.ts";
import type { StoredOutput } from "./task-row.ts";

/** One stored event. */
export interface FoldEvent {
  readonly seq: number;
  readonly epoch: number;
  readonly at: Date;
  readonly kind: string;
  readonly body: string;
}

type Body = Readonly<Record<string, unknown>>;

/** A message as the events so far tell it. */
export interface FoldedMessage {
  readonly role: "user" | "assistant";
  /** Undefined: the assistant of the run. */
  readonly author: string | undefined;
  /** Tells the messages of a run apart. */
  readonly key: string;
  readonly at: Date;
  readonly body: Body;
}

/** What a stretch of events adds. */
export interface Folded {
  readonly messages: readonly FoldedMessage[];
  readonly outputs: readonly StoredOutput[];
}

/** Tools that write the file they name. */
const WRITERS = new Set(["write_file", "edit_file"]);

/**
 * Folds events in order. `known` gives the body that an earlier stretch stored for a key: a later event may change it. Folding a
 * log in any stretches gives the same messages.
 */
export function foldEvents(events: readonly FoldEvent[], known: ReadonlyMap<string, Body>): Folded {
  const messages = new Map<string, FoldedMessage>();
  const outputs: StoredOutput[] = [];
  const bodyOf = (key: string): Body | undefined => messages.get(key)?.body ?? known.get(key);
  for (const event of events) {
    const body = parseBody(event.body);
    if (event.kind === RUN_EVENT.answered) put(messages, answerOf(event, body));
    else if (event.kind === RUN_EVENT.asked) for (const message of questionsOf(event, body)) put(messages, message);
    else if (event.kind === "message") {
      const message = messageOf(event, body, bodyOf);
      if (message !== undefined) put(messages, message);
      outputs.push(...outputsOf(message?.body));
    }
  }
  return { messages: [...messages.values()], outputs };
}

/** The key of the message that an event concerns; undefined when it concerns none. */
export function messageKey({ epoch, kind, body }: FoldEvent): string | undefined {
  if (kind !== "message") return undefined;
  const parsed = parseBody(body);
  const props = parsed["props"];
  const data = parsed["type"] === "event" && isObject(props) ? props["data"] : parsed;
  const id = isObject(data) ? data["message_id"] : undefined;
  return typeof id === "string" ? `${epoch}:${id}` : undefined;
}

function put(messages: Map<string, FoldedMessage>, message: FoldedMessage): void {
  const first = messages.get(message.key);
  messages.set(message.key, first === undefined ? message : { ...message, at: first.at });
}

function messageOf(event: FoldEvent, body: Body, bodyOf: (key: string) => Body | undefined): FoldedMessage | undefined {
  const key = messageKey(event);
  if (key === undefined) return undefined;
  const made = (next: Body): FoldedMessage => ({ role: "assistant", author: undefined, key, at: event.at, body: next });
  if (body["type"] === "event") {
    const props = body["props"];
    const data = isObject(props) && props["event"] === "message_end" ? props["data"] : undefined;
    return isObject(data) ? made(merged(bodyOf(key), toMessage(data))) : undefined;
  }
  if (body["delta"] === true) {
    const before = bodyOf(key);
    // Pieces of a streamed message: its end has the whole.
    return before !== undefined && body["delta_action"] === "merge" ? made(merged(before, body)) : undefined;
  }
  const { type, props, message_id } = body;
  return made({ type, message_id, props });
}

// What the end of a message tells takes the place of what was known; what it leaves out stays.
function merged(before: Body | undefined, next: Body): Body {
  const { type, message_id: id, props } = next;
  const old = before?.["props"];
  return {
    type: before?.["type"] ?? type,
    message_id: id,
    props: { ...(isObject(old) ? old : {}), ...(isObject(props) ? props : {}) },
  };
}

function answerOf(event: FoldEvent, body: Body): FoldedMessage {
  const { call_id: callId, decision, text, by } = body;
  const content = typeof text === "string" && text !== "" ? text : String(decision);
  return {
    role: "user",
    author: typeof by === "string" ? nameOf(by) : "",
    key: `${event.epoch}:answer:${String(callId)}`,
    at: event.at,
    body: { type: "text", props: { content, call_id: callId, decision } },
  };
}

function questionsOf(event: FoldEvent, body: Body): readonly FoldedMessage[] {
  const items = Array.isArray(body["pending"]) ? body["pending"] : [];
  return items.filter(isObject).map((item): FoldedMessage => ({
    role: "assistant",
    author: undefined,
    key: `${event.epoch}:question:${String(item["id"])}`,
    at: event.at,
    body: {
      type: "question",
      props: {
        content: item["text"],
        call_id: item["id"],
        kind: item["kind"],
        tool: item["tool"],
        choices: item["choices"],
      },
    },
  }));
}

// By rule: the tools of the agent that write files name the path.
function outputsOf(body: Body | undefined): readonly StoredOutput[] {
  const props = body?.["type"] === "tool_call" ? body["props"] : undefined;
  if (!isObject(props) || typeof props["name"] !== "string" || !WRITERS.has(props["name"])) return [];
  const args = typeof props["arguments"] === "string" ? parseBody(props["arguments"]) : props["arguments"];
  const path = isObject(args) ? (args["path"] ?? args["file_path"]) : undefined;
  if (typeof path !== "string" || path === "" || path.length > 1024) return [];
  return [{ kind: "file", title: path.split("/").at(-1) ?? path, target: path }];
}
