/** How large and how deep a JSON value is, found without recursion, so that a hostile value cannot overflow the stack. */

import { MeshError } from "@mesh/kernel";

/** Limits on one value that crosses a boundary. */
export interface JsonLimits {
  /** Characters of JSON text, roughly. */
  readonly maxSize: number;
  readonly maxDepth: number;
}

/** Refuses a value beyond the limits; `what` starts the message. Walks no further than the limit. */
export function checkJsonSize(what: string, value: unknown, limits: JsonLimits): void {
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  let size = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.depth > limits.maxDepth) {
      throw new MeshError("resource_exhausted", `${what} is nested deeper than ${limits.maxDepth} levels; flatten it`);
    }
    size += sizeOf(next.value);
    for (const inner of childrenOf(next.value)) {
      if (size > limits.maxSize) break;
      size += inner.key.length;
      pending.push({ value: inner.value, depth: next.depth + 1 });
    }
    if (size > limits.maxSize) {
      throw new MeshError(
        "resource_exhausted",
        `${what} is larger than ${limits.maxSize} characters; pass less at once`,
      );
    }
  }
}

/** The values inside, one at a time, so that no list of them is made for a value that is too large anyway. */
function* childrenOf(value: unknown): Generator<{ readonly key: string; readonly value: unknown }> {
  if (Array.isArray(value)) {
    for (const inner of value as readonly unknown[]) yield { key: "", value: inner };
  } else if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value)) yield { key, value: (value as Readonly<Record<string, unknown>>)[key] };
  }
}

function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  return typeof value === "object" && value !== null ? 2 : 4;
}
