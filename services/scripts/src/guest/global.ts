/** The global names of a script; see `../guest-globals.ts` for the list. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { GUEST_GLOBALS } from "../guest-globals.ts";
import { api, functionOf, isRecord, jsonOf, later, listOf, numberOf, recordOf, textOf } from "./api.ts";
import { atob, btoa } from "./base64.ts";
import { invoke, sleep } from "./bridge.ts";
import { mcpClient } from "./call.ts";
import { authorized, currentTrace, manualContext } from "./context.ts";
import { Exception } from "./exception.ts";
import { fileSystem, query, store } from "./file-store.ts";
import { formatLine } from "./format.ts";
import { http } from "./http.ts";

type Methods = Record<string, unknown>;

type GlobalName = (typeof GUEST_GLOBALS)[number];

const { defineProperty } = Object;

/** Puts all global names where scripts see them. */
export function defineGlobals(): void {
  // One description for all: in a fresh context every object of its own costs.
  const described = { value: undefined as unknown, writable: true, configurable: true, enumerable: false };
  const all = functions();
  for (const name in all) {
    described.value = all[name as keyof typeof all];
    defineProperty(globalThis, name, described);
  }
  const made = { log: logger, console: consoleOf, time: timeOf, http } satisfies Partial<Record<GlobalName, unknown>>;
  for (const name in made) later(globalThis, name, made[name as keyof typeof made], false);
}

function functions(): Record<Exclude<GlobalName, "log" | "console" | "time" | "http"> | "__proto__", unknown> {
  return {
    __proto__: null,
    Process: (name: unknown, ...args: readonly unknown[]) =>
      invoke("process.Call", textOf(name, "Process: the name"), args.map(jsonOf)),
    All: (requests: unknown) => invoke("process.All", processesOf(requests, "All")),
    Any: (requests: unknown) => invoke("process.Any", processesOf(requests, "Any")),
    Race: (requests: unknown) => invoke("process.Race", processesOf(requests, "Race")),
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

function timeOf(): Methods {
  return api("time", {
    __proto__: null,
    Sleep: (ms: unknown) => sleep(Math.max(0, numberOf(ms, "time.Sleep: the milliseconds"))),
    After: (ms: unknown, name: unknown, ...args: readonly unknown[]) =>
      void invoke(
        "time.After",
        numberOf(ms, "time.After: the milliseconds"),
        textOf(name, "time.After: the process"),
        args.map(jsonOf),
      ),
  });
}

function processesOf(requests: unknown, name: string): readonly JsonObject[] {
  return listOf(requests, `${name}: the requests`).map((request) => {
    const { process, args } = recordOf(request, `${name}: a request`);
    return {
      process: textOf(process, `${name}: a request's process`),
      args: listOf(args ?? [], `${name}: a request's args`),
    };
  });
}

function logger(): Methods {
  const at =
    (level: string) =>
    (...values: readonly unknown[]) =>
      void invoke("log.Write", "log", level, formatLine(values));
  return api("log", {
    __proto__: null,
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
  const at =
    (level: string) =>
    (...values: readonly unknown[]) =>
      void invoke("log.Write", "console", level, formatLine(values));
  return api("console", {
    __proto__: null,
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
