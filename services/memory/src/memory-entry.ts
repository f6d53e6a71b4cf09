/**
 * What one memory entry becomes by one method. Pure: no clock, no store; lists are changed in place only for their owner.
 *
 * E1  A method that changes an entry keeps its end of life; only `Set` gives a new one.
 * E2  A value of the wrong kind is an error that says what the key holds; nothing is overwritten silently.
 * E3  Values, lists and keys are bounded.
 */

import { canonicalJson, type Json, MeshError } from "@mesh/kernel";

/** A value and when it ends. */
export interface MemoryEntry {
  readonly value: Json;
  /** Milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null;
}

/** The result of a method and what becomes of the entry: another one, none, or (absent) no change. */
export interface EntryOutcome {
  readonly result: Json | undefined;
  readonly change?: { readonly entry: MemoryEntry | undefined };
}

interface Place {
  readonly key: string;
  readonly now: number;
  readonly isOwned: boolean;
}

type Operation = (entry: MemoryEntry | undefined, args: readonly Json[], at: Place) => EntryOutcome;

const MAX_KEY_CHARS = 512;
const MAX_VALUE_CHARS = 1024 * 1024;
const MAX_ITEMS = 100_000;
const MAX_TTL_SECONDS = 10 * 365 * 24 * 3600;

/** Methods that concern one key. */
export type EntryMethod = (typeof ENTRY_METHODS)[number];

/** See {@link EntryMethod}. */
export const ENTRY_METHODS = [
  "Get",
  "Has",
  "Set",
  "Del",
  "Delete",
  "GetDel",
  "Incr",
  "Decr",
  "Push",
  "AddToSet",
  "Pop",
  "Pull",
  "PullAll",
  "Remove",
  "ArrayLen",
  "ArrayGet",
  "ArraySet",
  "ArraySlice",
  "ArrayPage",
  "ArrayAll",
] as const;

const METHODS: ReadonlySet<string> = new Set(ENTRY_METHODS);

const GONE: EntryOutcome = { result: undefined, change: { entry: undefined } };

type Operations<Name extends EntryMethod> = Readonly<Record<Name, Operation>>;

// Made at the first use: each call of a script has a copy of this file, and few ask for their memory.
let operations: Operations<EntryMethod> | undefined;

function operationOf(method: EntryMethod): Operation {
  operations ??= { ...ofValues(), ...ofLists(), ...ofElements() };
  return operations[method];
}

function ofValues(): Operations<"Get" | "Has" | "Set" | "Del" | "Delete" | "GetDel" | "Incr" | "Decr"> {
  return {
    Get: (entry) => ({ result: entry?.value ?? null }),
    Has: (entry) => ({ result: entry !== undefined }),
    Set: (_entry, [value = null, ttl], { key, now }) => {
      return { result: undefined, change: { entry: { value: checked(value, key), expiresAt: endOf(ttl, now) } } };
    },
    Del: () => GONE,
    Delete: () => GONE,
    GetDel: (entry) => ({ result: entry?.value ?? null, change: { entry: undefined } }),
    Incr: (entry, [delta], { key }) => counted(entry, deltaOf(delta), key),
    Decr: (entry, [delta], { key }) => counted(entry, -deltaOf(delta), key),
  };
}

function ofLists(): Operations<"Push" | "AddToSet" | "Pop" | "Pull" | "PullAll" | "Remove"> {
  return {
    Push: (entry, args, at) => appended(entry, itemsOf(args), at),
    AddToSet: (entry, args, at) => {
      const known = new Set(listOf(entry, at.key).map(canonicalJson));
      const added = itemsOf(args).filter((item) => {
        const text = canonicalJson(item);
        return !known.has(text) && known.add(text);
      });
      return appended(entry, added, at);
    },
    // The documented form takes the last; the position -1 of older programs takes the first.
    Pop: (entry, [position], at) => {
      const list = listOf(entry, at.key);
      if (list.length === 0) return { result: null };
      const [first, last] = [list[0] ?? null, list.at(-1) ?? null];
      const edit = (rest: Json[]): unknown => (position === -1 ? rest.shift() : rest.pop());
      const taken = position === -1 ? first : last;
      return relisted(entry, at, { gone: [taken], edit, result: taken });
    },
    Pull: (entry, [count = 1], at) => {
      const list = listOf(entry, at.key);
      const from = list.length - Math.min(list.length, whole(count, "count"));
      const taken = list.slice(from);
      if (taken.length === 0) return { result: [] };
      return relisted(entry, at, { gone: taken, edit: (rest) => rest.splice(from), result: taken });
    },
    PullAll: (entry, _args, at) => {
      const taken = [...listOf(entry, at.key)];
      if (entry === undefined) return { result: [] };
      return relisted(entry, at, { gone: taken, edit: (rest) => rest.splice(0), result: taken });
    },
    // Of stores: every element equal to one of the values.
    Remove: (entry, args, { key }) => {
      const gone = new Set(itemsOf(args).map(canonicalJson));
      const rest = listOf(entry, key).filter((item) => !gone.has(canonicalJson(item)));
      return entry === undefined ? { result: 0 } : kept(entry, rest, key, rest.length);
    },
  };
}

function ofElements(): Operations<"ArrayLen" | "ArrayGet" | "ArraySet" | "ArraySlice" | "ArrayPage" | "ArrayAll"> {
  return {
    ArrayLen: (entry, _args, { key }) => ({ result: listOf(entry, key).length }),
    ArrayGet: (entry, [index = 0], { key }) => ({ result: listOf(entry, key).at(signed(index, "index")) ?? null }),
    ArraySet: (entry, [index = 0, value = null], at) => {
      const list = listOf(entry, at.key);
      const given = signed(index, "index");
      const found = given < 0 ? list.length + given : given;
      const before = list[found];
      if (before === undefined) throw invalid(`"${at.key}" has ${list.length} elements; there is none at ${given}`);
      const edit = (rest: Json[]): unknown => (rest[found] = value);
      return relisted(entry, at, { gone: [before], added: [value], edit, result: undefined });
    },
    // As documented, a negative end is the last element of the slice and a positive one the first behind it.
    ArraySlice: (entry, [start = 0, end], { key }) => {
      const stop = end === undefined || end === null ? -1 : signed(end, "end");
      const behind = stop === -1 ? undefined : stop < 0 ? stop + 1 : stop;
      return { result: listOf(entry, key).slice(signed(start, "start"), behind) };
    },
    ArrayPage: (entry, [page = 1, size = 10], { key }) => {
      const [from, length] = [(Math.max(1, whole(page, "page")) - 1) * whole(size, "size"), whole(size, "size")];
      return { result: listOf(entry, key).slice(from, from + length) };
    },
    ArrayAll: (entry, _args, { key }) => ({ result: listOf(entry, key) }),
  };
}

/** Whether a method concerns one key. */
export function isEntryMethod(method: string): method is EntryMethod {
  return METHODS.has(method);
}

/** Whether a method leaves every entry as it is. */
export function isRead(method: EntryMethod): boolean {
  return READS.has(method);
}

const READS: ReadonlySet<EntryMethod> = new Set<EntryMethod>([
  "Get",
  "Has",
  "ArrayLen",
  "ArrayGet",
  "ArraySlice",
  "ArrayPage",
  "ArrayAll",
]);

/**
 * Applies a method to the entry of a key; an entry that has ended counts as none. With `isOwned`, nobody else holds the
 * entry's list: it may be changed in place, so that filling a long one item by item copies nothing.
 */
export function applyToEntry(
  method: EntryMethod,
  key: string,
  args: readonly Json[],
  at: { readonly entry: MemoryEntry | undefined; readonly now: number; readonly isOwned?: boolean },
): EntryOutcome {
  const { entry, now, isOwned = false } = at;
  const isLive = entry !== undefined && (entry.expiresAt === null || entry.expiresAt > now);
  return operationOf(method)(isLive ? entry : undefined, args, { key, now, isOwned });
}

// A NUL, or half of a character that needs two units: a database would refuse it, or make two such keys one.
// oxlint-disable-next-line no-control-regex
const UNSTORABLE = /[\u0000\p{Surrogate}]/u;

/** Whether a text can be a key, or a part of one, in every kind of store. */
export function isKeyText(text: string, maxChars: number = MAX_KEY_CHARS): boolean {
  return text !== "" && text.length <= maxChars && !UNSTORABLE.test(text);
}

/** A key as given by a program. */
export function readKey(value: Json | undefined): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "string" && isKeyText(value)) return value;
  throw invalid(`a key must be a text of 1 to ${MAX_KEY_CHARS} characters, without NUL and halves of characters`);
}

function counted(entry: MemoryEntry | undefined, delta: number, key: string): EntryOutcome {
  const before = entry?.value ?? 0;
  if (typeof before !== "number") throw invalid(`"${key}" holds ${kindOf(before)}; only a number can be counted`);
  const after = before + delta;
  // JSON has no infinity: the entry would hold nothing, and the next count begin anew.
  if (!Number.isFinite(after)) throw invalid(`"${key}" would be larger than a number can be`);
  return kept(entry, after, key, after);
}

function kept(entry: MemoryEntry | undefined, value: Json, key: string, result: Json | undefined): EntryOutcome {
  return { result, change: { entry: { value: checked(value, key), expiresAt: entry?.expiresAt ?? null } } };
}

function appended(entry: MemoryEntry | undefined, added: readonly Json[], at: Place): EntryOutcome {
  const edit = (list: Json[]): void => {
    for (const item of added) list.push(item);
  };
  return relisted(entry, at, { added, edit, result: listOf(entry, at.key).length + added.length });
}

/** What becomes of a list, in a form that can be checked before it is done. */
interface ListChange {
  readonly gone?: readonly Json[];
  readonly added?: readonly Json[];
  readonly edit: (list: Json[]) => unknown;
  readonly result: Json | undefined;
}

function relisted(entry: MemoryEntry | undefined, { key, isOwned }: Place, change: ListChange): EntryOutcome {
  const { gone = [], added = [], edit, result } = change;
  const before = listOf(entry, key);
  // An empty list counts as one bracket, each item as itself and the comma or bracket behind it.
  const charsBefore = CHARS_OF_LISTS.get(before) ?? (before.length === 0 ? 1 : charsOf(before));
  const chars = charsBefore + charsIn(added) - charsIn(gone);
  if (added.length > 0) {
    checkItems(before.length + added.length - gone.length, key);
    checkChars(chars, key);
  }
  const list = isOwned ? (before as Json[]) : [...before];
  edit(list);
  CHARS_OF_LISTS.set(list, chars);
  return { result, change: { entry: { value: list, expiresAt: entry?.expiresAt ?? null } } };
}

// How long lists are as text, so that filling one item by item takes no time in proportion to its square.
const CHARS_OF_LISTS = new WeakMap<readonly Json[], number>();

function charsIn(items: readonly Json[]): number {
  return items.reduce<number>((sum, item) => sum + charsOf(item) + 1, 0);
}

function listOf(entry: MemoryEntry | undefined, key: string): readonly Json[] {
  if (entry === undefined || entry.value === null) return [];
  if (Array.isArray(entry.value)) return entry.value as readonly Json[];
  throw invalid(`"${key}" holds ${kindOf(entry.value)}; this needs a list`);
}

/** Values of a method that takes many, in both documented forms: one list, or one after the other. */
export function itemsOf(args: readonly Json[]): readonly Json[] {
  const [first, ...more] = args;
  return more.length === 0 && Array.isArray(first) ? (first as readonly Json[]) : args;
}

function checked(value: Json, key: string): Json {
  // The common case, and always short.
  if (typeof value !== "object" && typeof value !== "string") return value;
  if (Array.isArray(value)) checkItems((value as readonly Json[]).length, key);
  checkChars(charsOf(value), key);
  return value;
}

function charsOf(value: Json): number {
  return JSON.stringify(value).length;
}

function checkItems(length: number, key: string): void {
  if (length <= MAX_ITEMS) return;
  throw new MeshError("resource_exhausted", `"${key}" would hold ${length} elements; ${MAX_ITEMS} are the most`);
}

function checkChars(chars: number, key: string): void {
  if (chars <= MAX_VALUE_CHARS) return;
  throw new MeshError("resource_exhausted", `the value of "${key}" is larger than ${MAX_VALUE_CHARS / 1024} KiB`);
}

function endOf(ttl: Json | undefined, now: number): number | null {
  if (ttl === undefined || ttl === null || ttl === 0) return null;
  if (typeof ttl === "number" && ttl > 0 && ttl <= MAX_TTL_SECONDS) return now + ttl * 1000;
  throw invalid(`a time to live is a number of seconds, at most ${MAX_TTL_SECONDS}`);
}

function deltaOf(value: Json | undefined): number {
  if (value === undefined || value === null) return 1;
  if (typeof value === "number") return value;
  throw invalid("the step must be a number");
}

function whole(value: Json, name: string): number {
  const number = signed(value, name);
  if (number >= 0) return number;
  throw invalid(`${name} must be 0 or more`);
}

function signed(value: Json, name: string): number {
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw invalid(`${name} must be a whole number`);
}

function kindOf(value: Json): string {
  if (value === null) return "nothing";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
