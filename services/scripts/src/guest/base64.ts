/** `atob`, `btoa`, and bytes as base64, without anything but the language. */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** By letter; made for the first text. */
let values: ReadonlyMap<string, number> | undefined;
const CHUNK = 4096;

/** Base64 of a text whose characters are bytes. */
export function btoa(text: unknown): string {
  const source = String(text);
  const bytes = new Uint8Array(source.length);
  for (let i = 0; i < source.length; i += 1) {
    const byte = source.charCodeAt(i);
    if (byte > 255) throw new TypeError("btoa: the text has characters that are not bytes");
    bytes[i] = byte;
  }
  return encodeBase64(bytes);
}

/** The text whose characters are the bytes of `base64`. */
export function atob(base64: unknown): string {
  const bytes = decodeBase64(String(base64));
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += CHUNK) parts.push(String.fromCharCode(...bytes.subarray(i, i + CHUNK)));
  return parts.join("");
}

/** Bytes as base64. */
export function encodeBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = bytes.subarray(i, i + 3);
    const bits = (a << 16) | ((b ?? 0) << 8) | (c ?? 0);
    const letter = (shift: number): string => ALPHABET.charAt((bits >> shift) & 63);
    parts.push(letter(18) + letter(12) + (b === undefined ? "=" : letter(6)) + (c === undefined ? "=" : letter(0)));
  }
  return parts.join("");
}

/** The bytes of a base64 text; white space and missing padding are accepted. */
export function decodeBase64(text: string): Uint8Array {
  const letters = text.replace(/[\t\n\f\r ]/g, "").replace(/={1,2}$/, "");
  if (letters.length % 4 === 1) throw new TypeError("The text is not base64");
  const bytes = new Uint8Array(Math.floor((letters.length * 3) / 4));
  let bits = 0;
  let size = 0;
  let at = 0;
  for (const letter of letters) {
    const value = (values ??= new Map(ALPHABET.split("").map((each, at) => [each, at]))).get(letter);
    if (value === undefined) throw new TypeError("The text is not base64");
    bits = ((bits << 6) | value) & 0xffffff;
    size += 6;
    if (size < 8) continue;
    size -= 8;
    bytes[at] = (bits >> size) & 255;
    at += 1;
  }
  return bytes;
}
