/** `x-process-args`: how the arguments of a tool or a URI become the arguments of a process. Pure. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

/** What the entries of a mapping may refer to. */
export interface ProcessArgScope {
  /** Replaced whole: `":arguments"`, `":uri"`, `":parameters"`. */
  readonly whole: Readonly<Record<string, Json>>;
  /** Roots of paths: `"$args.a.b"`, `"$uri.x"`; the root "" serves `"$a"`. */
  readonly roots: Readonly<Record<string, JsonObject>>;
}

const MAX_ARGS = 64;

/** The arguments a mapping asks for. A path that leads nowhere is null; anything that is no reference stands for itself. */
export function processArgs(mapping: readonly Json[], scope: ProcessArgScope): readonly Json[] {
  return mapping.slice(0, MAX_ARGS).map((entry) => resolve(entry, scope));
}

function resolve(entry: Json, scope: ProcessArgScope): Json {
  if (typeof entry !== "string") return entry;
  const whole = own(scope.whole, entry);
  if (whole !== undefined) return whole;
  if (!entry.startsWith("$") || entry.length === 1) return entry;
  const [first = "", ...rest] = entry.slice(1).split(".");
  const root = own(scope.roots, first);
  if (root !== undefined) return at(root, rest);
  return at(scope.roots[""] ?? {}, [first, ...rest]);
}

function at(value: Json, path: readonly string[]): Json {
  let here: Json = value;
  for (const key of path) {
    const next = own(here, key);
    if (next === undefined) return null;
    here = next;
  }
  return here;
}

function own<Value>(container: Readonly<Record<string, Value>>, key: string): Value | undefined;
function own(container: Json, key: string): Json | undefined;
function own(container: unknown, key: string): unknown {
  if (!isObject(container) && !Array.isArray(container)) return undefined;
  return Object.hasOwn(container, key) ? (container as Record<string, unknown>)[key] : undefined;
}
