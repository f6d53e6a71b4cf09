/** All operations of scripts in one table, with their arguments checked before a handler sees them. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import { type HostOps, OP_ARGS, type OpArgKind, type OpName } from "@mesh/scripts";

import { AGENT_OPS } from "./agent-op.ts";
import { LLM_OPS } from "./llm-op.ts";
import { MCP_OPS } from "./mcp-op.ts";
import { MEMORY_OPS } from "./memory-op.ts";
import { MESSAGE_OPS } from "./message-op.ts";
import type { AnyOpHandler, OpCaller } from "./op-table.ts";
import { PROCESS_OPS } from "./process-op.ts";
import { SEARCH_OPS } from "./search-op.ts";
import { TRACE_OPS } from "./trace-op.ts";
import { WORKSPACE_OPS } from "./workspace-op.ts";

const HANDLERS: ReadonlyMap<string, AnyOpHandler> = new Map(
  Object.entries({
    ...MESSAGE_OPS,
    ...MEMORY_OPS,
    ...TRACE_OPS,
    ...AGENT_OPS,
    ...LLM_OPS,
    ...MCP_OPS,
    ...SEARCH_OPS,
    ...WORKSPACE_OPS,
    ...PROCESS_OPS,
  } as Readonly<Record<string, AnyOpHandler>>),
);

/** The operations as one caller's scripts have them. */
export function opsOf(caller: OpCaller): HostOps {
  return {
    invoke(op, args, io) {
      const handler = HANDLERS.get(op);
      if (handler === undefined) throw new MeshError("unimplemented", `${op} is not available in a run`);
      checkArgs(op, args);
      return handler(caller, args, io) as Json | undefined | Promise<Json | undefined>;
    },
  };
}

function checkArgs(op: string, args: readonly Json[]): void {
  const kinds: readonly OpArgKind[] = OP_ARGS[op as OpName];
  for (const [index, kind] of kinds.entries()) {
    const value = args[index] ?? null;
    if (!isKind(value, kind)) {
      throw new MeshError("invalid_argument", `${op}: argument ${index + 1} must be ${WORDS[kind]}`);
    }
  }
}

const WORDS: Readonly<Record<OpArgKind, string>> = {
  text: "a text",
  "text?": "a text",
  number: "a number",
  "number?": "a number",
  value: "a value",
  list: "a list",
  texts: "a list of texts",
  record: "an object",
  "record?": "an object",
  callback: "a function",
  "callback?": "a function",
};

function isKind(value: Json, kind: OpArgKind): boolean {
  if (kind.endsWith("?") && value === null) return true;
  switch (kind) {
    case "text":
    case "text?":
      return typeof value === "string";
    case "number":
    case "number?":
    case "callback":
    case "callback?":
      return typeof value === "number";
    case "list":
      return Array.isArray(value);
    case "texts":
      return Array.isArray(value) && value.every((each) => typeof each === "string");
    case "record":
    case "record?":
      return isObject(value);
    case "value":
      return true;
  }
}
