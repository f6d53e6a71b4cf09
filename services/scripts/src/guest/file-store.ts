/** Files, stores and queries: `FS`, `Store`, `Query`. */

import type { Json } from "@mesh/kernel";

import { api, functionOf, isRecord, jsonOf, listOf, optionalNumber, recordOf, textOf } from "./api.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { invoke } from "./bridge.ts";

type Methods = Record<string, unknown>;

const FILE_METHODS = (
  "Exists IsDir IsFile IsLink ReadFile ReadFileBase64 WriteFile WriteFileBase64 AppendFile ReadDir Mkdir MkdirAll " +
  "MkdirTemp Glob Remove RemoveAll Rename Move Copy Size ModTime Mode Chmod MimeType BaseName DirName ExtName Abs Zip " +
  "Unzip Merge"
).split(" ");
const STORE_METHODS = (
  "Get Set Has Del GetDel Keys Len Clear GetMulti SetMulti DelMulti Incr Decr Push Pop Pull PullAll AddToSet ArrayLen " +
  "ArrayGet ArraySet ArraySlice ArrayPage ArrayAll"
).split(" ");

/** `FS(root)`. */
export function fileSystem(root: string): Methods {
  const call = (method: string, ...args: readonly unknown[]): Json | undefined =>
    invoke("fs.Call", root, method, args.map(jsonOf));
  const methods = FILE_METHODS.map(
    (method) => [method, (...args: readonly unknown[]) => call(method, ...args)] as const,
  );
  return api("FS", {
    __proto__: null,
    ...(Object.fromEntries(methods) as Methods),
    ReadFileBuffer: (path: unknown) => decodeBase64(textOf(call("ReadFileBase64", path), "the file's content")),
    WriteFileBuffer: (path: unknown, bytes: unknown) => call("WriteFileBase64", path, encodeBase64(bytesOf(bytes))),
  });
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError("WriteFileBuffer: the content must be a Uint8Array or an ArrayBuffer");
}

/** `Store(id)`. */
export function store(id: string): Methods {
  const call = (method: string, ...args: readonly unknown[]): Json | undefined =>
    invoke("store.Call", id, method, args.map(jsonOf));
  const made = (key: unknown, make: unknown, ttl: unknown): Json => {
    const value = jsonOf(functionOf(make, "the store's function")(key as Json));
    call("Set", key, value, optionalNumber(ttl, "the time to live (seconds)"));
    return value;
  };
  const methods = STORE_METHODS.map(
    (method) => [method, (...args: readonly unknown[]) => call(method, ...args)] as const,
  );
  return api("Store", {
    __proto__: null,
    ...(Object.fromEntries(methods) as Methods),
    GetSet: (key: unknown, make: unknown, ttl?: unknown) => call("Get", key) ?? made(key, make, ttl),
    GetSetMulti: (keys: unknown, make: unknown, ttl?: unknown) => {
      const found = call("GetMulti", keys);
      const have = isRecord(found) ? found : {};
      return Object.fromEntries(
        listOf(keys, "GetSetMulti: the keys").map((key) => [
          key,
          have[textOf(key, "GetSetMulti: a key")] ?? made(key, make, ttl),
        ]),
      );
    },
  });
}

/** `Query(connector)`. */
export function query(connector: string): Methods {
  const run = (method: string) => (dsl: unknown) =>
    invoke("query.Call", connector, method, recordOf(dsl, `Query.${method}: the query`));
  return api("Query", {
    __proto__: null,
    Get: run("Get"),
    Run: run("Run"),
    Paginate: run("Paginate"),
    First: run("First"),
  });
}
