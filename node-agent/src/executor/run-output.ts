/**
 * Turns a run's output messages into events.
 *
 * T1  Pieces of one message are joined for at most `HOLD_MS` or `MAX_HELD` characters; the first piece of a message goes at once.
 * T2  Everything else goes at once, behind the pieces that came before it.
 */

import type { CancelTimer, Clock } from "@mesh/kernel";
import { isObject, MeshError } from "@mesh/kernel";
import type { OutputMessage } from "@mesh/runtime";

import type { NewEvent } from "../journal/journal.ts";
import { STEERED_KIND } from "../journal/replay.ts";

/** Where events go. */
export interface RunOutputDeps {
  readonly clock: Clock;
  /** Throws when the event cannot be kept. */
  readonly append: (event: NewEvent) => void;
  /** Called when a held piece could not be kept. */
  readonly failed: (error: unknown) => void;
}

interface Held {
  readonly first: OutputMessage;
  readonly key: string;
  readonly field: string;
  text: string;
  chunkId: string | undefined;
}

const HOLD_MS = 50;
const MAX_HELD = 4_096;
// A batch of one event must fit into one message of the bus (1 MB).
const MAX_BODY_BYTES = 768 * 1024;

/** The output of one run; see above. */
export class RunOutput {
  readonly #deps: RunOutputDeps;
  #held: Held | undefined;
  #lastKey = "";
  #cancelFlush: CancelTimer | undefined;

  constructor(deps: RunOutputDeps) {
    this.#deps = deps;
  }

  /** Takes the next message of the run. */
  write(message: OutputMessage): void {
    const piece = pieceOf(message);
    if (piece === undefined) {
      this.flush();
      this.#deps.append(eventOf(message));
    } else if (this.#held?.key === piece.key) this.#join(this.#held, piece);
    else if (this.#lastKey === piece.key) this.#hold(piece);
    else {
      this.flush();
      this.#lastKey = piece.key;
      this.#deps.append(eventOf(message));
    }
  }

  /** Lets go of what is held back. */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const held = this.#held;
    if (held === undefined) return;
    this.#held = undefined;
    const { first, field, text, chunkId } = held;
    const props = { ...first.props, [field]: text };
    this.#deps.append(eventOf({ ...first, props, ...(chunkId !== undefined && { chunk_id: chunkId }) }));
  }

  #hold(piece: Held): void {
    this.flush();
    this.#held = piece;
    this.#cancelFlush = this.#deps.clock.after(HOLD_MS, () => {
      try {
        this.flush();
      } catch (error) {
        this.#deps.failed(error);
      }
    });
  }

  #join(held: Held, piece: Held): void {
    held.text += piece.text;
    held.chunkId = piece.chunkId;
    if (held.text.length >= MAX_HELD) this.flush();
  }
}

/** What the runtime says of the run itself, by its type: such events are of a kind of their own. */
const OWN_KINDS: ReadonlyMap<string, string> = new Map([
  ["trace", "trace"],
  ["log", "log"],
  ["steered", STEERED_KIND],
]);

/** An event of kind `message`, or of one of those above. */
function eventOf(message: OutputMessage): NewEvent {
  // A message that a program gives such a type has an id, and stays a message.
  const ownKind = message.message_id === undefined ? OWN_KINDS.get(message.type) : undefined;
  const body = JSON.stringify(ownKind === undefined ? message : message.props);
  if (body.length > MAX_BODY_BYTES || Buffer.byteLength(body) > MAX_BODY_BYTES) {
    throw new MeshError(
      "resource_exhausted",
      `one message of the run is larger than ${MAX_BODY_BYTES / 1024} KiB; ask for less at a time`,
      {
        details: { code: "message_too_large" },
      },
    );
  }
  // That a message was read must survive a power cut, else another run would read it again.
  if (ownKind !== undefined) return { kind: ownKind, body, deltaOf: "", durable: ownKind === STEERED_KIND };
  const data = endOfMessage(message);
  const ended = data?.["message_id"];
  return {
    kind: "message",
    body,
    deltaOf: message.delta === true ? (message.message_id ?? "") : "",
    ...(typeof ended === "string" && { endsMessage: ended }),
    durable: isToolFact(message, data),
  };
}

function endOfMessage(message: OutputMessage): Readonly<Record<string, unknown>> | undefined {
  const { type, props } = message;
  const data: unknown = props["data"];
  return type === "event" && props["event"] === "message_end" && isObject(data) ? data : undefined;
}

// What a tool was asked and what it did must survive a power cut: it may have had effects.
function isToolFact(message: OutputMessage, ended: Readonly<Record<string, unknown>> | undefined): boolean {
  if (ended !== undefined) return ended["type"] === "tool_call";
  return message.delta !== true && (message.type === "tool_call" || message.type === "execute");
}

// A piece that only appends text to one field can be joined with its neighbours.
function pieceOf(message: OutputMessage): Held | undefined {
  if (message.delta !== true || message.message_id === undefined) return undefined;
  if (message.delta_action !== undefined && message.delta_action !== "append") return undefined;
  const fields = Object.entries(message.props);
  const [field, text] = fields[0] ?? [];
  if (fields.length !== 1 || field === undefined || typeof text !== "string") return undefined;
  const { type, message_id, block_id, thread_id, delta_path, chunk_id } = message;
  const key = JSON.stringify([type, message_id, block_id, thread_id, delta_path, field]);
  return { first: message, key, field, text, chunkId: chunk_id };
}
