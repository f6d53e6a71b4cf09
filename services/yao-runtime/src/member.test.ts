/** That what is declared is what a run offers: its operations, and the objects a script really sees. */

import { join } from "node:path";

import { systemClock } from "@mesh/kernel";
import { type ContextSeed, OP_ARGS, ScriptBundler, ScriptHost } from "@mesh/scripts";
import { expect, test } from "vitest";

import type { Agent } from "./agent-call.ts";
import type { Computer, Sandbox, Workspace } from "./computer.ts";
import type { Context } from "./context.ts";
import type { FS } from "./fs.ts";
import type { Http } from "./http.ts";
import type { Llm } from "./llm.ts";
import type { Log, Time } from "./log.ts";
import type { Mcp, McpClient } from "./mcp.ts";
import type { MemoryNamespace, Space } from "./memory.ts";
import type { Query } from "./query.ts";
import type { Search } from "./search.ts";
import type { Store } from "./store.ts";
import type { Trace, TraceNode, TraceSpace } from "./trace.ts";

/** Methods of an interface, as keys of an object: the compiler refuses one that is missing and one too many. */
type Methods<T> = {
  readonly [K in keyof T as NonNullable<T[K]> extends (...args: never[]) => unknown ? K : never]-?: true;
};

const context: Methods<Context> = {
  Send: true,
  SendStream: true,
  Append: true,
  Replace: true,
  Merge: true,
  Set: true,
  End: true,
  EndBlock: true,
  MessageID: true,
  BlockID: true,
  ThreadID: true,
  Release: true,
};

const memory: Methods<MemoryNamespace> = {
  Get: true,
  Set: true,
  Del: true,
  Has: true,
  GetDel: true,
  Keys: true,
  Len: true,
  Clear: true,
  Incr: true,
  Decr: true,
  Push: true,
  Pop: true,
  Pull: true,
  PullAll: true,
  AddToSet: true,
  ArrayLen: true,
  ArrayGet: true,
  ArraySet: true,
  ArraySlice: true,
  ArrayPage: true,
  ArrayAll: true,
};

const trace: Methods<Trace> = {
  Add: true,
  Parallel: true,
  Info: true,
  Debug: true,
  Warn: true,
  Error: true,
  SetOutput: true,
  SetMetadata: true,
  Complete: true,
  Fail: true,
  MarkComplete: true,
  IsComplete: true,
  CreateSpace: true,
  GetSpace: true,
  Release: true,
};

const traceSpace: Methods<TraceSpace> = { Get: true, Set: true, Has: true, Delete: true, Clear: true, Keys: true };
const agent: Methods<Agent> = { Call: true, Stream: true, All: true, Any: true, Race: true };
const llm: Methods<Llm> = { Call: true, Stream: true, All: true, Any: true, Race: true, GenerateImage: true };
const search: Methods<Search> = { Web: true, KB: true, DB: true, All: true, Any: true, Race: true };
const sandbox: Methods<Sandbox> = { ReadFile: true, WriteFile: true, ListDir: true, Exec: true };
const computer: Methods<Computer> = { Exec: true, VNC: true, Proxy: true, Info: true };

const mcp: Methods<Mcp> = {
  ListTools: true,
  CallTool: true,
  CallTools: true,
  CallToolsParallel: true,
  All: true,
  Any: true,
  Race: true,
  ListResources: true,
  ReadResource: true,
  ListPrompts: true,
  GetPrompt: true,
  ListSamples: true,
  GetSample: true,
};

const workspace: Methods<Workspace> = {
  ReadFile: true,
  ReadFileBase64: true,
  WriteFile: true,
  WriteFileBase64: true,
  ReadDir: true,
  MkdirAll: true,
  Remove: true,
  RemoveAll: true,
  Rename: true,
  Copy: true,
  Stat: true,
  Exists: true,
};

const space: Methods<Space> = { Get: true, Set: true, Delete: true, GetDel: true };

const traceNode: Methods<TraceNode> = {
  Add: true,
  Parallel: true,
  Info: true,
  Debug: true,
  Warn: true,
  Error: true,
  SetOutput: true,
  SetMetadata: true,
  Complete: true,
  Fail: true,
};

const mcpClient: Methods<McpClient> = {
  ListTools: true,
  CallTool: true,
  CallTools: true,
  CallToolsParallel: true,
  ListResources: true,
  ReadResource: true,
  ListPrompts: true,
  GetPrompt: true,
  ListSamples: true,
  GetSample: true,
  Release: true,
};

const http: Methods<Http> = {
  Get: true,
  Head: true,
  Post: true,
  Put: true,
  Patch: true,
  Delete: true,
  Send: true,
  Stream: true,
};

const store: Methods<Store> = {
  ...memory,
  GetSet: true,
  GetMulti: true,
  SetMulti: true,
  DelMulti: true,
  GetSetMulti: true,
};

const files: Methods<FS> = {
  Exists: true,
  IsDir: true,
  IsFile: true,
  IsLink: true,
  ReadFile: true,
  ReadFileBase64: true,
  ReadFileBuffer: true,
  WriteFile: true,
  WriteFileBase64: true,
  WriteFileBuffer: true,
  AppendFile: true,
  ReadDir: true,
  Glob: true,
  Mkdir: true,
  MkdirAll: true,
  MkdirTemp: true,
  Remove: true,
  RemoveAll: true,
  Rename: true,
  Move: true,
  Copy: true,
  Size: true,
  ModTime: true,
  Mode: true,
  Chmod: true,
  Abs: true,
  BaseName: true,
  DirName: true,
  ExtName: true,
  MimeType: true,
  Zip: true,
  Unzip: true,
  Merge: true,
};

const query: Methods<Query> = { Get: true, Run: true, Paginate: true, First: true };
const time: Methods<Time> = { Sleep: true, After: true };

const log: Methods<Log> = {
  Trace: true,
  Debug: true,
  Info: true,
  Warn: true,
  Error: true,
  Fatal: true,
  Panic: true,
};

/** Methods that need nothing of their host, or share an operation with others. */
const WITHOUT_OPERATION: Readonly<Record<string, readonly string[]>> = {
  ctx: ["Release"],
  trace: ["Info", "Debug", "Warn", "Error", "Release"],
  agent: ["Stream"],
};

/** Operations of `trace` that are methods of something else: a line of log at any level, and a space's own. */
const OF_OTHERS = /^(?:Log|Space)/;

function operationsOf(group: string): string[] {
  return Object.keys(OP_ARGS)
    .filter((name) => name.startsWith(`${group}.`))
    .map((name) => name.slice(group.length + 1))
    .filter((name) => group !== "trace" || !OF_OTHERS.test(name))
    .toSorted();
}

test.each<[string, Readonly<Record<string, true>>]>([
  ["ctx", context],
  ["memory", memory],
  ["trace", trace],
  ["agent", agent],
  ["llm", llm],
  ["mcp", mcp],
  ["search", search],
  ["sandbox", sandbox],
  ["computer", computer],
  ["workspace", workspace],
])("the methods declared for %s are its operations", (group, declared) => {
  const own = new Set(WITHOUT_OPERATION[group]);
  const methods = Object.keys(declared).filter((name) => !own.has(name));
  expect(methods.toSorted()).toEqual(operationsOf(group));
});

test("the methods declared for a space of a trace are its operations", () => {
  const operations = Object.keys(OP_ARGS).filter((name) => name.startsWith("trace.Space"));
  expect(
    Object.keys(traceSpace)
      .map((name) => `trace.Space${name}`)
      .toSorted(),
  ).toEqual(operations.toSorted());
});

/** Lists the methods of everything a script is handed. */
const LISTING = `
  const methods = (target) => Object.keys(target).filter((key) => typeof target[key] === "function");
  function Create(ctx) {
    const { memory, space, trace, mcp, agent, llm, search, sandbox, computer, workspace } = ctx;
    const objects = { ctx, space, trace, mcp, agent, llm, search, sandbox, computer, workspace, http, log, time };
    const made = {
      memoryOfUser: memory.user,
      memoryOfContext: memory.context,
      traceNode: trace.Add({}, { label: "x" }),
      traceSpace: trace.CreateSpace({ label: "x" }),
      mcpClient: new MCP("x"),
      store: new Store("x"),
      files: new FS("x"),
      query: new Query("x"),
    };
    return Object.fromEntries(Object.entries({ ...objects, ...made }).map(([name, target]) => [name, methods(target).sort()]));
  }
`;

const SEED: ContextSeed = {
  chat_id: "c",
  assistant_id: "a",
  locale: "en-us",
  theme: "",
  accept: "",
  route: "",
  referer: "",
  client: { type: "", user_agent: "", ip: "" },
  metadata: {},
  authorized: {},
  trace_id: "t",
  memory: { user: "u", context: "r" },
  sandbox: { workdir: "/" },
  computer: { id: "n" },
  workspace: { id: "w" },
};

/** What a function of a script returns. */
async function run(source: string, fn: string): Promise<unknown> {
  const program = await new ScriptBundler().bundle(
    { read: (path) => (path === "index.ts" ? source : undefined) },
    "index.ts",
  );
  const host = new ScriptHost({ clock: systemClock });
  try {
    const call = { program, fn, args: [{ ctx: SEED }], label: fn };
    const result = await host.call(call, { invoke: () => "id" }, new AbortController().signal);
    return result.kind === "returned" ? result.value : result;
  } finally {
    await host.close();
  }
}

test("the methods declared for each object are those a script finds on it", { timeout: 30_000 }, async () => {
  const declared = {
    ctx: context,
    space,
    trace,
    mcp,
    agent,
    llm,
    search,
    sandbox,
    computer,
    workspace,
    http,
    log,
    time,
  };
  const made = { memoryOfUser: memory, memoryOfContext: memory, traceNode, traceSpace, mcpClient, store, files, query };
  const names = Object.entries({ ...declared, ...made }).map(([name, list]) => [name, Object.keys(list).toSorted()]);
  expect(await run(LISTING, "Create")).toEqual(Object.fromEntries(names));
});

test("what this package exports is what a script imports from it", { timeout: 30_000 }, async () => {
  const source = 'import * as all from "@yao/runtime"; export function Names() { return Object.keys(all).sort(); }';
  // By a name the compiler does not follow: the globals this package declares are not for its tests.
  const own = (await import(/* @vite-ignore */ join(import.meta.dirname, "index.ts"))) as object;
  // Three are part of every JavaScript environment, so a script need not import them; the fourth the bundler adds.
  const besides = ["atob", "btoa", "console", "default"];
  expect(await run(source, "Names")).toEqual([...Object.keys(own), ...besides].toSorted());
});
