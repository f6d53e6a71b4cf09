/** That what is declared is what a run offers: its operations, one by one. */

import { OP_ARGS } from "@mesh/scripts";
import { expect, test } from "vitest";

import type { Agent } from "./agent-call.ts";
import type { Computer, Sandbox, Workspace } from "./computer.ts";
import type { Context } from "./context.ts";
import type { Llm } from "./llm.ts";
import type { Mcp } from "./mcp.ts";
import type { MemoryNamespace } from "./memory.ts";
import type { Search } from "./search.ts";
import type { Trace, TraceSpace } from "./trace.ts";

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
