/** The global names of a script; see `../guest-globals.ts` for the list. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { GUEST_GLOBALS } from "../guest-globals.ts";
import { api, functionOf, isRecord, jsonOf, listOf, numberOf, optionalNumber, recordOf, textOf } from "./api.ts";
import { atob, btoa, decodeBase64, encodeBase64 } from "./base64.ts";
import { invoke, sleep, withCallback } from "./bridge.ts";
import { mcpClient } from "./call.ts";
import { authorized, currentTrace, manualContext } from "./context.ts";
import { Exception } from "./exception.ts";
import { formatLine } from "./format.ts";

type Methods = Record<string, unknown>;

/** All global names and what they stand for. */
export function globals(): Record<(typeof GUEST_GLOBALS)[number], unknown> {
  return {
    Process: (name: unknown, ...args: readonly unknown[]) =>
      invoke("process.Call", textOf(name, "Process: the name"), args.map(jsonOf)),
    All: (requests: unknown) => invoke("process.All", processesOf(requests, "All")),
    Any: (requests: unknown) => invoke("process.Any", processesOf(requests, "Any")),
    Race: (requests: unknown) => invoke("process.Race", processesOf(requests, "Race")),
    log: logger(),
    console: consoleOf(),
    time: api("time", {
      Sleep: (ms: unknown) => sleep(Math.max(0, numberOf(ms, "time.Sleep: the milliseconds"))),
      After: (ms: unknown, name: unknown, ...args: readonly unknown[]) =>
        void invoke("time.After", numberOf(ms, "time.After: the milliseconds"), textOf(name, "time.After: the process"), args.map(jsonOf)),
    }),
    http: http(),
    // Functions, not arrows: scripts call these with and without `new`.
    FS: function FS(root: unknown) {
      return fileSystem(textOf(root, "FS: the root"));
    },
    Store: function Store(id: unknown) {
      return store(textOf(id, "Store: the id"));
    },
    Query: function Query(connector: unknown = "default") {
      return query(textOf(connector, "Query: the connector"));
    },
    MCP: function MCP(id: unknown) {
      return mcpClient(id);
    },
    Trace: function Trace() {
      return currentTrace();
    },
    Context: function Context(options: unknown) {
      return manualContext(options);
    },
    Exception,
    Authorized: authorized,
    Use: use,
    $L: (text: unknown) => invoke("i18n.L", textOf(text, "$L: the text")),
    atob,
    btoa,
  };
}

function processesOf(requests: unknown, name: string): readonly JsonObject[] {
  return listOf(requests, `${name}: the requests`).map((request) => {
    const { process, args } = recordOf(request, `${name}: a request`);
    return { process: textOf(process, `${name}: a request's process`), args: listOf(args ?? [], `${name}: a request's args`) };
  });
}

function logger(): Methods {
  const at = (level: string) => (...values: readonly unknown[]) => void invoke("log.Write", "log", level, formatLine(values));
  return api("log", {
    Trace: at("trace"),
    Debug: at("debug"),
    Info: at("info"),
    Warn: at("warn"),
    Error: at("error"),
    Fatal: at("fatal"),
    Panic: at("panic"),
  });
}

function consoleOf(): Methods {
  const at = (level: string) => (...values: readonly unknown[]) => void invoke("log.Write", "console", level, formatLine(values));
  return api("console", {
    log: at("info"),
    info: at("info"),
    debug: at("debug"),
    trace: at("trace"),
    warn: at("warn"),
    error: at("error"),
    assert: (condition: unknown, ...values: readonly unknown[]) => {
      if (!condition) at("error")("Assertion failed", ...values);
    },
  });
}

interface Parts {
  readonly payload?: unknown;
  readonly query?: unknown;
  readonly headers?: unknown;
  readonly files?: unknown;
}

function http(): Methods {
  const request = (method: unknown, url: unknown, parts: Parts): JsonObject => {
    const given = Object.entries(parts).filter(([, value]) => value !== undefined && value !== null);
    return { method: textOf(method, "http: the method"), url: textOf(url, "http: the URL"), ...(Object.fromEntries(given) as JsonObject) };
  };
  const send = (method: unknown, url: unknown, parts: Parts): unknown => invoke("http.Send", request(method, url, parts));
  const withPayload = (method: string) => (url: unknown, payload?: unknown, query?: unknown, headers?: unknown) =>
    send(method, url, { payload, query, headers });
  return api("http", {
    Get: (url: unknown, query?: unknown, headers?: unknown) => send("GET", url, { query, headers }),
    Head: withPayload("HEAD"),
    Post: (url: unknown, payload?: unknown, files?: unknown, query?: unknown, headers?: unknown) =>
      send("POST", url, { payload, files, query, headers }),
    Put: withPayload("PUT"),
    Patch: withPayload("PATCH"),
    Delete: withPayload("DELETE"),
    // The arguments of a request, in the order scripts write them.
    Send: (method: unknown, url: unknown, ...[payload, query, headers, files]: readonly unknown[]) =>
      send(method, url, { payload, query, headers, files }),
    Stream: (method: unknown, url: unknown, onLine: unknown, ...[payload, query, headers]: readonly unknown[]) =>
      withCallback(functionOf(onLine, "http.Stream: the callback"), (id) =>
        invoke("http.Stream", request(method, url, { payload, query, headers }), id ?? 0),
      ),
  });
}

const FILE_METHODS = [
  ...["Exists", "IsDir", "IsFile", "IsLink", "ReadFile", "ReadFileBase64", "WriteFile", "WriteFileBase64", "AppendFile"],
  ...["ReadDir", "Mkdir", "MkdirAll", "MkdirTemp", "Glob", "Remove", "RemoveAll", "Rename", "Move", "Copy", "Size"],
  ...["ModTime", "Mode", "Chmod", "MimeType", "BaseName", "DirName", "ExtName", "Abs", "Zip", "Unzip", "Merge"],
] as const;

function fileSystem(root: string): Methods {
  const call = (method: string, ...args: readonly unknown[]): Json | undefined =>
    invoke("fs.Call", root, method, args.map(jsonOf));
  const methods = FILE_METHODS.map((method) => [method, (...args: readonly unknown[]) => call(method, ...args)] as const);
  return api("FS", {
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

const STORE_METHODS = [
  ...["Get", "Set", "Has", "Del", "GetDel", "Keys", "Len", "Clear", "GetMulti", "SetMulti", "DelMulti", "Incr", "Decr"],
  ...["Push", "Pop", "Pull", "PullAll", "AddToSet", "ArrayLen", "ArrayGet", "ArraySet", "ArraySlice", "ArrayPage", "ArrayAll"],
] as const;

function store(id: string): Methods {
  const call = (method: string, ...args: readonly unknown[]): Json | undefined =>
    invoke("store.Call", id, method, args.map(jsonOf));
  const made = (key: unknown, make: unknown, ttl: unknown): Json => {
    const value = jsonOf(functionOf(make, "the store's function")(key as Json));
    call("Set", key, value, optionalNumber(ttl, "the time to live (seconds)"));
    return value;
  };
  const methods = STORE_METHODS.map((method) => [method, (...args: readonly unknown[]) => call(method, ...args)] as const);
  return api("Store", {
    ...(Object.fromEntries(methods) as Methods),
    GetSet: (key: unknown, make: unknown, ttl?: unknown) => call("Get", key) ?? made(key, make, ttl),
    GetSetMulti: (keys: unknown, make: unknown, ttl?: unknown) => {
      const found = call("GetMulti", keys);
      const have = isRecord(found) ? found : {};
      return Object.fromEntries(
        listOf(keys, "GetSetMulti: the keys").map((key) => [key, have[String(key)] ?? made(key, make, ttl)]),
      );
    },
  });
}

function query(connector: string): Methods {
  const run = (method: string) => (dsl: unknown) => invoke("query.Call", connector, method, recordOf(dsl, `Query.${method}: the query`));
  return api("Query", { Get: run("Get"), Run: run("Run"), Paginate: run("Paginate"), First: run("First") });
}

/** `Use(FS, "data", (fs) => …)`: makes, uses and releases. */
function use(make: unknown, ...args: readonly unknown[]): unknown {
  const body = functionOf(args.at(-1), "Use: the last argument");
  const made: unknown = functionOf(make, "Use: the first argument")(...(args.slice(0, -1) as Json[]));
  try {
    return body(made as Json);
  } finally {
    if (isRecord(made) && typeof made["Release"] === "function") (made["Release"] as () => void)();
  }
}
