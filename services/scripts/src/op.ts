/**
 * The operations a running script may ask its host for: their names, the shape of their arguments, their results.
 *
 * O1  A script reaches the outside only through these names; every argument and result is JSON.
 * O2  Arguments are checked against {@link OP_ARGS} before a handler sees them. A `value` is whatever the script gave.
 * O3  A `callback` is the number of a function inside the script; `OpIo.callback` runs it while the operation is pending.
 *
 * Absent optional arguments are null. What an operation means is documented where users read it: `@yao/runtime`.
 */

import type { Json, JsonObject } from "@mesh/kernel";

/** What one argument of an operation may be. */
export interface OpArgKinds {
  readonly text: string;
  readonly "text?": string | null;
  readonly number: number;
  readonly "number?": number | null;
  readonly value: Json;
  readonly list: readonly Json[];
  readonly texts: readonly string[];
  readonly record: JsonObject;
  readonly "record?": JsonObject | null;
  readonly "callback?": number | null;
  readonly callback: number;
}

/** Name of an argument kind. */
export type OpArgKind = keyof OpArgKinds;

/** Every operation with the kinds of its arguments, in order. */
export const OP_ARGS = {
  // Messages: (message | text, block id).
  "ctx.Send": ["value", "text?"],
  "ctx.SendStream": ["value", "text?"],
  // (message id, content, path)
  "ctx.Append": ["text", "value", "text?"],
  "ctx.Replace": ["text", "value"],
  "ctx.Merge": ["text", "value", "text?"],
  "ctx.Set": ["text", "value", "text"],
  // (message id, final content)
  "ctx.End": ["text", "value"],
  "ctx.EndBlock": ["text"],
  "ctx.MessageID": [],
  "ctx.BlockID": [],
  "ctx.ThreadID": [],

  // Memory of a user, team or chat: (space, key, …). Time to live is in seconds; null means for ever.
  "memory.Get": ["text", "text"],
  "memory.Set": ["text", "text", "value", "number?"],
  "memory.Del": ["text", "text"],
  "memory.Has": ["text", "text"],
  "memory.GetDel": ["text", "text"],
  "memory.Keys": ["text"],
  "memory.Len": ["text"],
  "memory.Clear": ["text"],
  "memory.Incr": ["text", "text", "number"],
  "memory.Decr": ["text", "text", "number"],
  "memory.Push": ["text", "text", "list"],
  "memory.Pop": ["text", "text"],
  "memory.Pull": ["text", "text", "number"],
  "memory.PullAll": ["text", "text"],
  "memory.AddToSet": ["text", "text", "list"],
  "memory.ArrayLen": ["text", "text"],
  "memory.ArrayGet": ["text", "text", "number"],
  "memory.ArraySet": ["text", "text", "number", "value"],
  "memory.ArraySlice": ["text", "text", "number", "number"],
  "memory.ArrayPage": ["text", "text", "number", "number"],
  "memory.ArrayAll": ["text", "text"],

  // Trace: the first argument names a node; null means the current one.
  "trace.Add": ["text?", "value", "record"],
  "trace.Parallel": ["text?", "list"],
  // (node, level, message, data)
  "trace.Log": ["text?", "text", "text", "list"],
  "trace.SetOutput": ["text?", "value"],
  "trace.SetMetadata": ["text?", "text", "value"],
  // (node, [output] or []): completing with null differs from completing without an output.
  "trace.Complete": ["text?", "list"],
  "trace.Fail": ["text?", "text"],
  "trace.MarkComplete": [],
  "trace.IsComplete": [],
  "trace.CreateSpace": ["record"],
  // Whether there is a space with this id.
  "trace.GetSpace": ["text"],
  "trace.SpaceGet": ["text", "text"],
  "trace.SpaceSet": ["text", "text", "value"],
  "trace.SpaceHas": ["text", "text"],
  "trace.SpaceDelete": ["text", "text"],
  "trace.SpaceClear": ["text"],
  "trace.SpaceKeys": ["text"],

  // (agent, messages, options, onChunk(message)); several: (requests, onChunk(agent id, index, message)).
  "agent.Call": ["text", "list", "record?", "callback?"],
  "agent.All": ["list", "callback?"],
  "agent.Any": ["list", "callback?"],
  "agent.Race": ["list", "callback?"],

  // `Stream` also shows the completion to the user; `Call` does not.
  "llm.Call": ["text", "list", "record?", "callback?"],
  "llm.Stream": ["text", "list", "record?", "callback?"],
  "llm.All": ["list", "callback?"],
  "llm.Any": ["list", "callback?"],
  "llm.Race": ["list", "callback?"],
  "llm.GenerateImage": ["text", "text", "record?"],

  "mcp.ListTools": ["text", "text?"],
  "mcp.CallTool": ["text", "text", "record?"],
  "mcp.CallTools": ["text", "list"],
  "mcp.CallToolsParallel": ["text", "list"],
  "mcp.All": ["list"],
  "mcp.Any": ["list"],
  "mcp.Race": ["list"],
  "mcp.ListResources": ["text", "text?"],
  "mcp.ReadResource": ["text", "text"],
  "mcp.ListPrompts": ["text", "text?"],
  "mcp.GetPrompt": ["text", "text", "record?"],
  // (client, "tool" | "resource", name)
  "mcp.ListSamples": ["text", "text", "text"],
  "mcp.GetSample": ["text", "text", "text", "number"],

  "search.Web": ["text", "record?"],
  "search.KB": ["text", "record?"],
  "search.DB": ["text", "record?"],
  "search.All": ["list"],
  "search.Any": ["list"],
  "search.Race": ["list"],

  // Files and commands of the run's workspace on its node. Binary content is base64.
  "sandbox.ReadFile": ["text"],
  "sandbox.WriteFile": ["text", "text"],
  "sandbox.ListDir": ["text"],
  "sandbox.Exec": ["texts"],
  "computer.Exec": ["texts"],
  "computer.VNC": [],
  "computer.Proxy": ["number", "text?"],
  "computer.Info": [],
  "workspace.ReadFile": ["text"],
  "workspace.ReadFileBase64": ["text"],
  "workspace.WriteFile": ["text", "text"],
  "workspace.WriteFileBase64": ["text", "text"],
  "workspace.ReadDir": ["text"],
  "workspace.MkdirAll": ["text"],
  "workspace.Remove": ["text"],
  "workspace.RemoveAll": ["text"],
  "workspace.Rename": ["text", "text"],
  "workspace.Copy": ["text", "text"],
  "workspace.Stat": ["text"],
  "workspace.Exists": ["text"],

  // (name, arguments); several: [{process, args}].
  "process.Call": ["text", "list"],
  "process.All": ["list"],
  "process.Any": ["list"],
  "process.Race": ["list"],
  // (delay in ms, process name, arguments): runs later, and only while the run lives.
  "time.After": ["number", "text", "list"],
  // {method, url, payload?, query?, headers?, files?}
  "http.Send": ["record"],
  "http.Stream": ["record", "callback"],
  // (root, method, arguments): `new FS(root).Method(…)`. Buffers travel as base64.
  "fs.Call": ["text", "text", "list"],
  // (store id, method, arguments): `new Store(id).Method(…)`.
  "store.Call": ["text", "text", "list"],
  // (connector, "Get" | "Run" | "Paginate" | "First", query)
  "query.Call": ["text", "text", "record"],
  // The text in the run's language.
  "i18n.L": ["text"],
  // ("console" | "log", level, text)
  "log.Write": ["text", "text", "text"],

  // The `t` of a test function. (what, details): "held" once, "failed", "log", "skip".
  "test.Record": ["text", "value"],
  // (text, pattern): whether the pattern, in RE2 syntax, is found.
  "test.Match": ["text", "text"],
  // (value, path): what the path finds.
  "test.JSONPath": ["value", "text"],
  // (response, agent, options): {passed, reason}.
  "test.Agent": ["value", "text", "record"],
} as const;

/** Name of an operation. */
export type OpName = keyof typeof OP_ARGS;

/** Argument kinds as the values they stand for, position by position. */
type ValuesOf<Kinds extends readonly OpArgKind[]> = { readonly [Index in keyof Kinds]: OpArgKinds[Kinds[Index]] };

/** The arguments of an operation, as a handler gets them. */
export type OpArgs<Name extends OpName> = ValuesOf<(typeof OP_ARGS)[Name]>;

/** Outcome of one agent of `ctx.agent`; never thrown. */
export type AgentOutcome = {
  readonly agent_id: string;
  readonly response?: Json;
  readonly content?: string;
  readonly error?: string;
};

/** Outcome of one completion of `ctx.llm`; never thrown. */
export type LlmOutcome = {
  readonly connector: string;
  readonly response?: Json;
  readonly content?: string;
  readonly error?: string;
};

/** A tool's answer: parsed, and the content it was parsed from. */
export type McpToolAnswer = { readonly result: Json; readonly content?: Json };

/** Outcome of one request of `ctx.mcp.All`, `Any` or `Race`. */
export type McpToolOutcome = {
  readonly mcp: string;
  readonly tool: string;
  readonly result?: Json;
  readonly error?: string;
};

/** Outcome of one request of the globals `All`, `Any` and `Race`. */
export type ProcessOutcome = { readonly data?: Json; readonly error?: string };

/** Results that are more than "some JSON or nothing". */
interface NamedResults {
  readonly "ctx.Send": string;
  readonly "ctx.SendStream": string;
  readonly "ctx.MessageID": string;
  readonly "ctx.BlockID": string;
  readonly "ctx.ThreadID": string;
  readonly "trace.Add": string;
  readonly "trace.Parallel": readonly string[];
  readonly "trace.IsComplete": boolean;
  readonly "trace.CreateSpace": string;
  readonly "trace.GetSpace": boolean;
  readonly "agent.Call": AgentOutcome;
  // One entry per request, in their order; null for those that were cancelled or not waited for.
  readonly "agent.All": readonly (AgentOutcome | null)[];
  readonly "agent.Any": readonly (AgentOutcome | null)[];
  readonly "agent.Race": readonly (AgentOutcome | null)[];
  readonly "llm.Call": LlmOutcome;
  readonly "llm.Stream": LlmOutcome;
  readonly "llm.All": readonly (LlmOutcome | null)[];
  readonly "llm.Any": readonly (LlmOutcome | null)[];
  readonly "llm.Race": readonly (LlmOutcome | null)[];
  readonly "mcp.CallTool": McpToolAnswer;
  readonly "mcp.CallTools": readonly McpToolAnswer[];
  readonly "mcp.CallToolsParallel": readonly McpToolAnswer[];
  readonly "mcp.All": readonly (McpToolOutcome | null)[];
  readonly "mcp.Any": readonly (McpToolOutcome | null)[];
  readonly "mcp.Race": readonly (McpToolOutcome | null)[];
  readonly "process.All": readonly (ProcessOutcome | null)[];
  readonly "process.Any": readonly (ProcessOutcome | null)[];
  readonly "process.Race": readonly (ProcessOutcome | null)[];
  readonly "i18n.L": string;
  readonly "test.Match": boolean;
  readonly "test.JSONPath": readonly Json[];
  readonly "test.Agent": { readonly passed: boolean; readonly reason: string };
}

/** The result of an operation. */
export type OpResult<Name extends OpName> = Name extends keyof NamedResults ? NamedResults[Name] : Json | undefined;
