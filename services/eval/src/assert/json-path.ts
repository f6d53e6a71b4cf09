/**
 * Paths into JSON: RFC 9535 (`$.store.book[?@.price < 10].title`), and the short form without `$` (`wheres[0].like`).
 *
 * Names in the short form may have hyphens.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import { PathCursor } from "./path-cursor.ts";
import { readFilter } from "./path-filter.ts";

/** A parsed path. */
export interface JsonPath {
  /** All that it finds, in order. */
  find(root: Json): readonly Json[];
  /** Whether it can find at most one value. */
  readonly isSingular: boolean;
}

type Selector = (node: Json, root: Json) => readonly Json[];

interface Segment {
  readonly selectors: readonly Selector[];
  readonly isDescendant: boolean;
  readonly isSingular: boolean;
}

const MAX_PATH_CHARS = 2_000;
const MAX_NODES = 1_000_000;
const NAME = /[^\s.[\]()?@'",*$!=<>&|:]+/uy;

/** Parses a path; throws `invalid_argument`, saying where it is wrong. */
export function parseJsonPath(path: string): JsonPath {
  const trimmed = path.trim();
  if (trimmed === "") throw new MeshError("invalid_argument", "the path is empty; $ is the whole value");
  if (trimmed.length > MAX_PATH_CHARS) {
    throw new MeshError(
      "invalid_argument",
      `the path has ${trimmed.length} characters; ${MAX_PATH_CHARS} are the most`,
    );
  }
  const cursor = new PathCursor(
    trimmed.startsWith("$") ? trimmed : trimmed.startsWith("[") ? `$${trimmed}` : `$.${trimmed}`,
  );
  cursor.expect("$");
  const { find, isSingular } = readQuery(cursor);
  cursor.skipSpace();
  if (!cursor.isAtEnd) throw cursor.refused(`${JSON.stringify(cursor.peek(20))} is not understood`);
  return { find: (root) => find(root, root), isSingular };
}

function readQuery(cursor: PathCursor): {
  readonly find: (node: Json, root: Json) => readonly Json[];
  readonly isSingular: boolean;
} {
  const segments: Segment[] = [];
  for (let segment = readSegment(cursor); segment !== undefined; segment = readSegment(cursor)) segments.push(segment);
  return {
    isSingular: segments.every(({ isSingular }) => isSingular),
    find: (node, root) => segments.reduce<readonly Json[]>((nodes, segment) => step(nodes, segment, root), [node]),
  };
}

function step(nodes: readonly Json[], { selectors, isDescendant }: Segment, root: Json): readonly Json[] {
  const out: Json[] = [];
  for (const node of isDescendant ? nodes.flatMap((each) => [...descendants(each)]) : nodes) {
    for (const selector of selectors) for (const found of selector(node, root)) out.push(found);
    if (out.length > MAX_NODES) throw new MeshError("resource_exhausted", "the path finds more than a million values");
  }
  return out;
}

function* descendants(node: Json): Generator<Json> {
  yield node;
  for (const child of children(node)) yield* descendants(child);
}

function children(node: Json): readonly Json[] {
  if (Array.isArray(node)) return node as readonly Json[];
  return isObject(node) ? Object.values<Json>(node) : [];
}

function readSegment(cursor: PathCursor): Segment | undefined {
  const start = cursor.at;
  cursor.skipSpace();
  if (cursor.take("..")) {
    const selectors = cursor.peek() === "[" ? readBracket(cursor).selectors : [readDotted(cursor)];
    return { selectors, isDescendant: true, isSingular: false };
  }
  if (cursor.take(".")) {
    const isSingular = cursor.peek() !== "*";
    return { selectors: [readDotted(cursor)], isDescendant: false, isSingular };
  }
  if (cursor.peek() === "[") return { ...readBracket(cursor), isDescendant: false };
  cursor.at = start;
  return undefined;
}

function readDotted(cursor: PathCursor): Selector {
  if (cursor.take("*")) return children;
  const name = cursor.match(NAME);
  if (name === undefined) throw cursor.refused("a name is missing after the dot");
  return member(name);
}

function readBracket(cursor: PathCursor): { readonly selectors: readonly Selector[]; readonly isSingular: boolean } {
  cursor.expect("[");
  const read: Selected[] = [];
  for (;;) {
    cursor.skipSpace();
    read.push(readSelector(cursor));
    cursor.skipSpace();
    if (cursor.take("]")) break;
    cursor.expect(",");
  }
  return { selectors: read.map(({ select }) => select), isSingular: read.length === 1 && read[0]?.isSingular === true };
}

interface Selected {
  readonly select: Selector;
  readonly isSingular: boolean;
}

function readSelector(cursor: PathCursor): Selected {
  const next = cursor.peek();
  if (next === "'" || next === '"') return { select: member(cursor.quoted()), isSingular: true };
  if (cursor.take("*")) return { select: children, isSingular: false };
  if (cursor.take("?")) {
    const filter = readFilter(cursor, readQuery);
    return {
      select: (node, root) => children(node).filter((child) => filter({ node: child, root })),
      isSingular: false,
    };
  }
  const slice = cursor.match(/(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(-?\d+)?)?/y);
  if (slice !== undefined) return { select: slicer(slice), isSingular: false };
  const index = cursor.match(/-?(?:0|[1-9]\d*)(?![\d.])/y);
  if (index !== undefined) return { select: element(safeInteger(index, cursor)), isSingular: true };
  throw cursor.refused("expected a name in quotes, an index, a slice, * or ?");
}

function safeInteger(text: string, cursor: PathCursor): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) throw cursor.refused(`${text} is not an index`);
  return value;
}

function member(name: string): Selector {
  return (node) => (isObject(node) && Object.hasOwn(node, name) ? [node[name] as Json] : []);
}

function element(index: number): Selector {
  return (node) => {
    const value = Array.isArray(node) ? (node as readonly Json[]).at(index) : undefined;
    return value === undefined ? [] : [value];
  };
}

function slicer(text: string): Selector {
  const [from = "", to = "", by = ""] = text.split(":").map((part) => part.trim());
  const stepBy = by === "" ? 1 : Number(by);
  return (node) => {
    if (!Array.isArray(node) || stepBy === 0) return [];
    const list = node as readonly Json[];
    const at = (part: string, otherwise: number): number => {
      if (part === "") return otherwise;
      const value = Number(part);
      return value < 0 ? list.length + value : value;
    };
    const out: Json[] = [];
    if (stepBy > 0) {
      const end = Math.min(at(to, list.length), list.length);
      for (let index = Math.max(at(from, 0), 0); index < end; index += stepBy) out.push(list[index] ?? null);
    } else {
      const end = Math.max(at(to, -1), -1);
      for (let index = Math.min(at(from, list.length - 1), list.length - 1); index > end; index += stepBy) {
        out.push(list[index] ?? null);
      }
    }
    return out;
  };
}
