/**
 * What users attach to their messages, made into what the model takes: texts and images.
 *
 * R1  Only user messages are touched, and those without attachments stay as they are.
 * R2  An attachment that cannot be had, read or described becomes a short text in brackets that says why; the run goes on.
 * R3  Count, bytes and text of all attachments of a request are bounded. The newest messages come first: what is over a bound
 *     is left out of the oldest.
 */

import type { Assistant } from "@mesh/assistants";
import { errorText, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";
import type { ChatMessage } from "../chat-message.ts";
import { loadAttachment } from "./attachment-source.ts";
import { describe } from "./describe.ts";
import { documentText } from "./document-text.ts";
import { type Attachment, type DocumentKind, type FileKind, isMedia, kindOf, type MediaKind } from "@mesh/documents";
import { type GivenAttachment, readPart } from "./part.ts";
import type { Uses } from "./uses.ts";

/** Whose messages, for which model. */
export interface ContentScope {
  readonly context: AgentContext;
  readonly assistant: Assistant;
  readonly uses: Uses;
  /** Helpers look at images even where the model sees. */
  readonly isForced: boolean;
  /** Whether the model takes images. */
  readonly sees: boolean;
}

const MAX_ATTACHMENTS = 32;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_TOTAL_BYTES = 48 * 1024 * 1024;
const MAX_CHARS = 100_000;
const MAX_TOTAL_CHARS = 400_000;
const MAX_REASON_CHARS = 300;
// Each may be a call of a model.
const AT_ONCE = 4;

/** The messages as the model takes them. */
export async function resolveContent(
  messages: readonly ChatMessage[],
  scope: ContentScope,
): Promise<readonly ChatMessage[]> {
  if (!messages.some(hasAttachments)) return messages;
  const resolver = new ContentResolver(scope);
  const parts = messages.toReversed().flatMap((message) => (hasAttachments(message) ? message.content : []));
  const resolved = new Map<Json, JsonObject>();
  const open: (readonly [part: Json, tell: Tell])[] = [];
  // One after the other: each takes of the room that is left.
  for (const part of new Set(parts)) open.push([part, await resolver.open(part)]);
  const queue = open.values();
  const worker = async (): Promise<void> => {
    for (const [part, tell] of queue) resolved.set(part, await tell());
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return messages.map((message) => {
    if (!hasAttachments(message)) return message;
    return { ...message, content: message.content.flatMap((part) => resolved.get(part) ?? []) };
  });
}

function hasAttachments(message: ChatMessage): message is ChatMessage & { readonly content: readonly Json[] } {
  const { role, content } = message;
  return role === "user" && Array.isArray(content) && !(content as readonly Json[]).every(isPlainText);
}

function isPlainText(part: Json): boolean {
  return isObject(part) && part["type"] === "text" && typeof part["text"] === "string";
}

/** Puts what was loaded into the form that the model takes. */
type Tell = () => JsonObject | Promise<JsonObject>;

class ContentResolver {
  readonly #scope: ContentScope;
  #attachments = 0;
  #bytes = 0;
  #chars = 0;

  constructor(scope: ContentScope) {
    this.#scope = scope;
  }

  /** Loads what a part refers to. */
  async open(part: Json): Promise<Tell> {
    const given = readPart(part);
    switch (given.kind) {
      case "text":
        return () => textPart(given.text);
      case "data":
        return () => textPart(this.#counted(JSON.stringify(given.value)));
      case "unknown":
        return () => textPart(`[a part of the type ${given.type} was left out: it is not known]`);
      case "attachment":
        return this.#openAttachment(given.attachment);
    }
  }

  async #openAttachment(given: GivenAttachment): Promise<Tell> {
    try {
      const file = await this.#load(given);
      return () =>
        this.#told(file, kindOf(file)).catch((error: unknown) => this.#leftOut(error, given.sense, file.name));
    } catch (error) {
      const note = this.#leftOut(error, given.sense, given.name);
      return () => note;
    }
  }

  async #load(given: GivenAttachment): Promise<Attachment> {
    const { context, assistant } = this.#scope;
    this.#attachments += 1;
    if (this.#attachments > MAX_ATTACHMENTS) {
      throw new MeshError("resource_exhausted", `a request takes ${MAX_ATTACHMENTS} attachments, the newest first`);
    }
    const maxBytes = Math.min(MAX_BYTES, MAX_TOTAL_BYTES - this.#bytes);
    const file = await loadAttachment(given, { context, assistant, maxBytes });
    this.#bytes += file.bytes.byteLength;
    return file;
  }

  #leftOut(thrown: unknown, sense: string, name = ""): JsonObject {
    const { context } = this.#scope;
    if (context.signal.aborted) throw thrown;
    context.shared.ports.log?.("warn", "an attachment was left out", { err: errorText(thrown) });
    const error = MeshError.from(thrown);
    // What was not meant for people stays in the log.
    const reason = error.code === "internal" ? "it could not be read" : error.message;
    return textPart(`[${name === "" ? sense : `${sense} ${name}`} was left out: ${reason.slice(0, MAX_REASON_CHARS)}]`);
  }

  async #told(file: Attachment, kind: FileKind): Promise<JsonObject> {
    return isMedia(kind) ? this.#shown(file, kind) : textPart(await this.#read(file, kind));
  }

  async #read(file: Attachment, kind: DocumentKind): Promise<string> {
    const { shared, signal } = this.#scope.context;
    const maxChars = Math.min(MAX_CHARS, MAX_TOTAL_CHARS - this.#chars);
    if (maxChars <= 0) throw new MeshError("resource_exhausted", "the attachments hold too much text together");
    return this.#counted(await documentText(file, kind, { clock: shared.ports.clock, signal, maxChars }));
  }

  async #shown(file: Attachment, kind: MediaKind): Promise<JsonObject> {
    const { context, assistant, uses, isForced, sees } = this.#scope;
    const sense = kind.kind === "image" ? "vision" : "audio";
    const describer = uses[sense];
    const isShown = sense === "vision" && sees && (describer === undefined || describer === "" || !isForced);
    if (isShown) {
      const data = Buffer.from(file.bytes).toString("base64");
      return { type: "image_url", image_url: { url: `data:${kind.mimeType};base64,${data}` } };
    }
    const described = { sense, file, mimeType: kind.mimeType } as const;
    const words = await describe(described, { context, assistantId: assistant.id, describer });
    return textPart(this.#counted(`[${kind.kind}${file.name === "" ? "" : ` ${file.name}`}, described]\n${words}`));
  }

  #counted(text: string): string {
    const kept = text.slice(0, Math.max(0, MAX_TOTAL_CHARS - this.#chars));
    this.#chars += kept.length;
    return kept;
  }
}

function textPart(text: string): JsonObject {
  return { type: "text", text };
}
