/** An error as log fields: what it is and where it came from, none of the request or settings it may carry. */

import { isObject, MeshError } from "@mesh/kernel";

/** The fields of an error in a log line. */
export interface ErrorFields {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly stack?: string;
  readonly cause?: ErrorFields;
}

const MAX_CAUSES = 5;
const MAX_TEXT = 4000;

/** Serialises anything thrown; causes are followed a few steps. */
export function errorFields(thrown: unknown): ErrorFields {
  return describe(thrown, 0);
}

function describe(thrown: unknown, depth: number): ErrorFields {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: cut(asText(thrown)) };
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
  const details = thrown instanceof MeshError && isObject(thrown.details) ? thrown.details : undefined;
  return {
    type: thrown.name,
    message: cut(thrown.message),
    ...(code === undefined ? {} : { code }),
    ...(details === undefined ? {} : { details }),
    ...(thrown.stack === undefined ? {} : { stack: cut(thrown.stack) }),
    ...(thrown.cause === undefined || depth >= MAX_CAUSES ? {} : { cause: describe(thrown.cause, depth + 1) }),
  };
}

// An object is named, not printed: it may be a request with its headers.
function asText(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null ? Object.prototype.toString.call(thrown) : String(thrown);
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`;
}
