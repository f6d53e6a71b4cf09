/** What was thrown, as text for the host. Reads it with care: it may be anything, and its getters may throw. */

import { missHint } from "./api.ts";

const MAX_MESSAGE = 8_000;
const MAX_STACK = 16_000;

// Taken before the script can change it.
const { stringify } = JSON;

/** What a script threw. */
export interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly code?: number | string;
  readonly stack?: string;
}

/** Describes a thrown value; never throws itself. */
export function describeThrown(thrown: unknown): string {
  try {
    return stringify(read(thrown));
  } catch {
    return '{"name":"Error","message":"The script threw something that cannot be read"}';
  }
}

function read(thrown: unknown): Thrown {
  if (typeof thrown !== "object" || thrown === null)
    return { name: "Error", message: bounded(String(thrown), MAX_MESSAGE) };
  const { name, message, code, stack } = thrown as Record<string, unknown>;
  const text = typeof message === "string" ? message : plain(thrown);
  return {
    name: typeof name === "string" ? bounded(name, 100) : "Error",
    message: bounded(text, MAX_MESSAGE) + (thrown instanceof TypeError ? missHint(text) : ""),
    ...((typeof code === "number" || typeof code === "string") && {
      code: typeof code === "string" ? bounded(code, 100) : code,
    }),
    ...(typeof stack === "string" && { stack: bounded(stack, MAX_STACK) }),
  };
}

function plain(thrown: object): string {
  const text: unknown = stringify(thrown);
  return typeof text === "string" ? text : Object.prototype.toString.call(thrown);
}

function bounded(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
