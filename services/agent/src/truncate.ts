/**
 * Cuts long tool output when it enters a history: head, a marker, tail.
 *
 * C1  The result has exactly `maxLines` lines, marker included, and at most `maxBytes`; cutting it again changes nothing.
 * C2  With a stash, the marker names the key the full text is kept under; a text that cannot be kept gets a plain marker.
 * C3  All texts of one result together take at most four times `maxBytes`; beyond, they become one text, cut as a whole.
 * C4  Of the images of one result only as many as the cap allows stay, from the first on; one text says what was left out.
 * C5  Events keep the full text; only the history is cut, and only here, never again by a later compaction.
 */

import type { InputContent } from "@mesh/llm";

import { fingerprint } from "./loop-detector.ts";

/** How much of a tool's text enters the history. */
export interface OutputCap {
  /** `Infinity` switches the line cap off. */
  readonly maxLines: number;
  /** UTF-8 bytes of one text part. */
  readonly maxBytes: number;
  /** Images of one result; 10 when absent. */
  readonly maxImages?: number;
  /** Bytes of all images of one result together, decoded; 20 million when absent. */
  readonly maxImageBytes?: number;
}

/** The cap of a run that sets none. */
export const DEFAULT_OUTPUT_CAP: OutputCap = { maxLines: 200, maxBytes: 200_000 };

/** Keeps the full text of cut results; a shared state is one. */
export interface OutputStash {
  /** Resolves to whether the text is kept; may evict what was stashed before. */
  put(key: string, text: string): Promise<boolean>;
  remove(key: string): Promise<unknown>;
  has(key: string): Promise<boolean>;
}

/** Where the texts of one call go. */
export interface CallStash {
  readonly store: OutputStash;
  readonly callId: string;
}

const MARKER_START = "[... ";
const MARKER_END = " ...]";
/** Below this there is no room for head, marker and tail. */
const MIN_LINES_FOR_MARKER = 5;

/** Where stashed output lives; everything else in a shared state belongs to its callers. */
export const STASH_PREFIX = "tool-out-";

/** The key of one cut text: stable for the same output, different for any other. */
export function stashKey(callId: string, content: readonly InputContent[], index: number): string {
  const texts = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return `${STASH_PREFIX}${callId}-${fingerprint(texts)}-b${index}`;
}

/** A text cut to a cap; the same string when it fits. `key` is named in the marker. */
export function capText(text: string, cap: OutputCap, key?: string): string {
  const byLines = capLines(text, cap.maxLines, key);
  return byteLength(byLines) <= cap.maxBytes ? byLines : capBytes(byLines, cap.maxBytes, key);
}

/** The content that enters the history, its long texts cut and kept in full. */
export async function capContent(
  output: readonly InputContent[],
  cap: OutputCap,
  stash: CallStash,
): Promise<readonly InputContent[]> {
  const content = capImages(output, cap);
  const cut = content.map((part) => part.type === "text" && capText(part.text, cap) !== part.text);
  return cutContent(content, cap, cut.includes(true) ? await keepAll(content, cut, stash) : undefined);
}

/** The content that enters the history, its long texts cut; `keys` name where each is kept in full. */
export function cutContent(
  output: readonly InputContent[],
  cap: OutputCap,
  keys?: ReadonlyMap<number, string>,
): readonly InputContent[] {
  if (isShort(output, cap)) return output;
  const content = capImages(output, cap);
  let isCut = false;
  const capped = content.map((part, index) => {
    if (part.type !== "text") return part;
    const text = capText(part.text, cap, keys?.get(index));
    if (text === part.text) return part;
    isCut = true;
    return { ...part, text };
  });
  return boundTogether(isCut ? capped : content, cap);
}

/** Whether no cap can be reached, told by lengths alone: most results are of this kind. */
function isShort(content: readonly InputContent[], cap: OutputCap): boolean {
  return (
    content.length <= MAX_FULL_TEXTS &&
    content.every(
      (part) => part.type === "text" && part.text.length < cap.maxLines && part.text.length * 3 <= cap.maxBytes,
    )
  );
}

const DEFAULT_IMAGES = 10;
const DEFAULT_IMAGE_BYTES = 20_000_000;

function capImages(content: readonly InputContent[], cap: OutputCap): readonly InputContent[] {
  const { maxImages = DEFAULT_IMAGES, maxImageBytes = DEFAULT_IMAGE_BYTES } = cap;
  let images = 0;
  let bytes = 0;
  let left = 0;
  const kept = content.filter((part) => {
    if (part.type === "text") return true;
    const size = Math.floor((part.data.length * 3) / 4) + part.mimeType.length;
    if (images >= maxImages || bytes + size > maxImageBytes) {
      left += 1;
      return false;
    }
    images += 1;
    bytes += size;
    return true;
  });
  if (left === 0) return content;
  const what = `${left} of ${images + left} images left out: a result may hold ${maxImages} images`;
  return [...kept, { type: "text", text: `${MARKER_START}${what} of ${maxImageBytes} bytes together${MARKER_END}` }];
}

const MAX_FULL_TEXTS = 4;

/** Thousands of short texts are as long as one long text. */
function boundTogether(content: readonly InputContent[], cap: OutputCap): readonly InputContent[] {
  if (content.length <= MAX_FULL_TEXTS) return content;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length <= MAX_FULL_TEXTS) return content;
  const total = texts.reduce((sum, text) => sum + byteLength(text), 0);
  if (total <= MAX_FULL_TEXTS * cap.maxBytes) return content;
  const whole: InputContent = { type: "text", text: capText(texts.join("\n"), cap) };
  return [whole, ...content.filter((part) => part.type !== "text")];
}

/** Stashes every cut text, or none: a marker must never name a key that is not there. */
async function keepAll(
  content: readonly InputContent[],
  cut: readonly boolean[],
  stash: CallStash,
): Promise<ReadonlyMap<number, string> | undefined> {
  const keys = new Map<number, string>();
  let kept = true;
  try {
    for (const [index, part] of content.entries()) {
      if (part.type !== "text" || cut[index] !== true) continue;
      const key = stashKey(stash.callId, content, index);
      keys.set(index, key);
      kept &&= await stash.store.put(key, part.text);
    }
    // Storing one part may have evicted its sibling.
    for (const key of keys.values()) kept &&= await stash.store.has(key);
  } catch {
    kept = false;
  }
  if (kept) return keys;
  for (const key of keys.values()) await stash.store.remove(key).catch(() => undefined);
  return undefined;
}

function capLines(text: string, maxLines: number, key: string | undefined): string {
  const lines = text.split("\n");
  if (lines.length <= maxLines) return text;
  if (maxLines < MIN_LINES_FOR_MARKER) return lines.slice(0, Math.max(0, maxLines)).join("\n");
  const tail = Math.floor((maxLines - 1) / 2);
  const head = maxLines - 1 - tail;
  const dropped = lines.length - head - tail;
  return [...lines.slice(0, head), marker(`${dropped} lines`, key), ...lines.slice(lines.length - tail)].join("\n");
}

function capBytes(text: string, maxBytes: number, key: string | undefined): string {
  const total = byteLength(text);
  const note = marker(`about ${total} bytes, too long`, key);
  const room = maxBytes - byteLength(note) - 2;
  if (room < 16) return sliceBytes(text, maxBytes);
  const head = sliceBytes(text, Math.ceil(room / 2));
  const tail = sliceBytesFromEnd(text, Math.floor(room / 2));
  // On one line: a cut by bytes must not bring the text over its cap of lines.
  return `${head} ${note} ${tail}`;
}

function marker(what: string, key: string | undefined): string {
  const where = key === undefined ? "" : `; the whole text is in shared_state under "${key}"`;
  return `${MARKER_START}${what} left out${where}${MARKER_END}`;
}

/** UTF-8 length without encoding. */
export function byteLength(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i += 1) bytes += unitBytes(text.charCodeAt(i));
  return bytes;
}

/** The longest prefix of at most `maxBytes` UTF-8 bytes that splits no character. */
export function sliceBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (; end < text.length; end += 1) {
    bytes += unitBytes(text.charCodeAt(end));
    if (bytes > maxBytes) break;
  }
  return text.slice(0, isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end);
}

function sliceBytesFromEnd(text: string, maxBytes: number): string {
  let bytes = 0;
  let start = text.length;
  for (; start > 0; start -= 1) {
    bytes += unitBytes(text.charCodeAt(start - 1));
    if (bytes > maxBytes) break;
  }
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start);
}

function unitBytes(unit: number): number {
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  // Each half of a surrogate pair stands for two of the character's four bytes.
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
