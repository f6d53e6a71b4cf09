/** Ids of tool calls: made up where a provider gives none, reshaped where a provider is picky. */

const SYNTHETIC = "local_";

/** An id for a call that came without one; see {@link isSyntheticCallId}. */
export function syntheticCallId(): string {
  return `${SYNTHETIC}${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
}

/** Whether an id was made up here, so that the provider does not know it. */
export function isSyntheticCallId(id: string): boolean {
  return id.startsWith(SYNTHETIC);
}

/** The shapes that providers accept. */
export type CallIdShape = "any" | "word" | "nine-alphanumeric";

/** The id as a provider accepts it: unchanged where it fits, else derived from it, equal for equal input. */
export function wireCallId(id: string, shape: CallIdShape): string {
  if (shape === "any") return id;
  if (shape === "nine-alphanumeric") return /^[a-zA-Z0-9]{9}$/.test(id) ? id : fnv1a(id).slice(0, 9);
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(id)) return id;
  return `${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, 40)}_${fnv1a(id)}`;
}

/** 64-bit FNV-1a of the UTF-8 bytes, as 16 hex digits. */
export function fnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, "0");
}
