/**
 * Keeps secrets out of log lines: values under secret names at any depth, and secrets recognisable by their form
 * inside any text, error messages included.
 */

import { errorFields } from "./error-fields.ts";

/** What stands in place of a secret. */
export const CENSORED = "[redacted]";

const MAX_DEPTH = 8;
const MAX_ITEMS = 200;

const SECRET_NAMES: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "setcookie",
  "jwt",
  "key",
  "seed",
  "creds",
]);
const SECRET_ENDINGS = ["authorization", "token", "secret", "password", "passwd", "apikey", "privatekey", "sealedkey"];

const SECRET_FORMS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // scheme://user:password@host
  [/(\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@"]*):[^\s/@"]+@/gi, `$1:${CENSORED}@`],
  [/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, `$1 ${CENSORED}`],
  // JSON Web Tokens, NATS nkey seeds, keys of model providers, our own tokens.
  [/\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, CENSORED],
  [/\bS[OANUCX][A-Z2-7]{56}\b/g, CENSORED],
  [/\bsk-[\w-]{16,}/g, CENSORED],
  [/([?&](?:api_?key|access_token|token|key)=)[^&\s"]+/gi, `$1${CENSORED}`],
];

/** Whether a field of this name holds a secret, in any of the usual spellings. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, "");
  return SECRET_NAMES.has(plain) || SECRET_ENDINGS.some((ending) => plain.endsWith(ending));
}

/** A copy with every value under a secret name replaced; bounded in depth and breadth. */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return redactObject(fields, 0);
}

/** The text with everything that looks like a secret replaced. */
export function scrubText(text: string): string {
  return SECRET_FORMS.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}

function redactObject(object: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const entries = Object.entries(object).slice(0, MAX_ITEMS);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isSecretName(name) ? CENSORED : redactValue(value, depth + 1)]),
  );
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (value instanceof Error) return redactObject({ ...errorFields(value) }, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth >= MAX_DEPTH) return "[too deep]";
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => redactValue(item, depth + 1));
  return redactObject(value as Record<string, unknown>, depth);
}
