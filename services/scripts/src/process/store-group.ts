/** The group `stores`: `stores.<id>.Get("key")` → one {@link StoreRequest}. */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import { addressedGroup, type ProcessGroup } from "./process-group.ts";
import type { StoreOperation, StorePort } from "./store-port.ts";

const STORE_ID = /^[A-Za-z_][\w.-]{0,127}$/;
const MAX_KEY = 512;
const MAX_KEYS = 1000;
const MAX_TTL_S = 10 * 365 * 24 * 3600;

/** `stores.<id>.Get Set Has Del GetDel Len Keys Clear GetMulti … ArrayAll`. */
export function storeGroup(port: StorePort): ProcessGroup {
  return addressedGroup(({ id, method, args }, { scope, signal }) => {
    if (!STORE_ID.test(id)) args.refuse("a store's name starts with a letter and holds letters, digits, _ - and dots");
    const read = OPERATIONS[method];
    if (read === undefined) return args.refuse(`stores have no method ${method}`);
    return port.call(scope, { store: id, ...read(args) }, signal);
  }, Object.keys(OPERATIONS));
}

/** One operation from a method of a store and its arguments, checked; also what `new Store(id)` of a script uses. */
export function storeOperation(method: string, args: ProcessArgs): StoreOperation {
  const read = Object.hasOwn(OPERATIONS, method) ? OPERATIONS[method] : undefined;
  return read === undefined ? args.refuse(`stores have no method ${method}`) : read(args);
}

const OPERATIONS: Readonly<Record<string, ((args: ProcessArgs) => StoreOperation) | undefined>> = {
  Get: (args) => ({ op: "get", key: key(args) }),
  GetDel: (args) => ({ op: "getDel", key: key(args) }),
  Set: (args) => ({ op: "set", key: key(args), value: args.json(1), ...ttl(args, 2) }),
  Has: (args) => ({ op: "has", key: key(args) }),
  Del: (args) => ({ op: "del", key: key(args) }),
  Keys: () => ({ op: "keys" }),
  Len: () => ({ op: "len" }),
  Clear: () => ({ op: "clear" }),
  GetMulti: (args) => ({ op: "getMulti", keys: keys(args) }),
  SetMulti: (args) => ({ op: "setMulti", values: entries(args), ...ttl(args, 1) }),
  DelMulti: (args) => ({ op: "delMulti", keys: keys(args) }),
  Incr: (args) => ({ op: "incr", key: key(args), by: args.integer(1, "delta", 1) }),
  Decr: (args) => ({ op: "incr", key: key(args), by: -args.integer(1, "delta", 1) }),
  Push: (args) => ({ op: "push", key: key(args), values: values(args) }),
  AddToSet: (args) => ({ op: "addToSet", key: key(args), values: values(args) }),
  Pop: (args) => ({ op: "pop", key: key(args), end: args.integer(1, "position", 1) < 0 ? "first" : "last" }),
  Pull: (args) => ({ op: "pull", key: key(args), values: [args.json(1)] }),
  PullAll: (args) => ({ op: "pull", key: key(args), values: args.list(1, "values") }),
  ArrayLen: (args) => ({ op: "arrayLen", key: key(args) }),
  ArrayAll: (args) => ({ op: "arrayAll", key: key(args) }),
  ArrayGet: (args) => ({ op: "arrayGet", key: key(args), index: args.integer(1, "index") }),
  ArraySet: (args) => ({ op: "arraySet", key: key(args), index: args.integer(1, "index"), value: args.json(2) }),
  ArraySlice: (args) => ({
    op: "arraySlice",
    key: key(args),
    skip: count(args, 1, "skip"),
    limit: count(args, 2, "limit"),
  }),
  ArrayPage: (args) => {
    const page = args.integer(1, "page", 1);
    const size = count(args, 2, "page size");
    if (page < 1) args.refuse("argument 2 (page) counts from 1");
    return { op: "arraySlice", key: key(args), skip: (page - 1) * size, limit: size };
  },
};

function key(args: ProcessArgs): string {
  const text = args.text(0, "key");
  return checked(text) ? text : args.refuse(KEY_RULE);
}

const KEY_RULE = `a key has 1 to ${MAX_KEY} characters, none of them a control character`;

function checked(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the database refuses NUL, and the others are never meant
  return text.length > 0 && text.length <= MAX_KEY && !/[\u0000-\u001f]/.test(text);
}

function keys(args: ProcessArgs): readonly string[] {
  const list = args.texts(0, "keys");
  if (list.length > MAX_KEYS) args.refuse(`at most ${MAX_KEYS} keys at once`);
  return list.every(checked) ? list : args.refuse(KEY_RULE);
}

function entries(args: ProcessArgs): Readonly<Record<string, Json>> {
  const object = args.object(0, "values");
  const names = Object.keys(object);
  if (names.length > MAX_KEYS) args.refuse(`at most ${MAX_KEYS} keys at once`);
  return names.every(checked) ? object : args.refuse(KEY_RULE);
}

/** Everything after the key; one list stands for its elements. */
function values(args: ProcessArgs): readonly Json[] {
  const [, ...rest] = args.values;
  const [first] = rest;
  return rest.length === 1 && Array.isArray(first) ? (first as readonly Json[]) : rest;
}

function count(args: ProcessArgs, index: number, label: string): number {
  const number = args.integer(index, label);
  return number >= 0 ? number : args.refuse(`argument ${index + 1} (${label}) must not be negative`);
}

function ttl(args: ProcessArgs, index: number): { readonly ttlMs?: number } {
  const ms = ttlMs(args.json(index));
  return ms === undefined ? {} : { ttlMs: ms };
}

/** Milliseconds of a time to live: seconds as a number, `{seconds}` or `{ms}`; 0 and nothing mean "for good". */
export function ttlMs(value: Json): number | undefined {
  if (value === null || value === 0) return undefined;
  const { seconds, ms } = isObject(value) ? value : { seconds: value, ms: undefined };
  const total = typeof ms === "number" ? ms : typeof seconds === "number" ? seconds * 1000 : Number.NaN;
  if (!(total > 0 && total <= MAX_TTL_S * 1000)) {
    throw new MeshError(
      "invalid_argument",
      "a time to live is a number of seconds, {seconds: n} or {ms: n}, up to ten years",
    );
  }
  return Math.ceil(total);
}
