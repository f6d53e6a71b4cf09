/** All operations of scripts in one table; the script host has checked their arguments. */

import { type Json, MeshError } from "@mesh/kernel";
import type { HostOps } from "@mesh/scripts";

import { AGENT_OPS } from "./agent-op.ts";
import { LLM_OPS } from "./llm-op.ts";
import { MCP_OPS } from "./mcp-op.ts";
import { MEMORY_OPS } from "./memory-op.ts";
import { MESSAGE_OPS } from "./message-op.ts";
import type { AnyOpHandler, OpCaller } from "./op-table.ts";
import { PROCESS_OPS } from "./process-op.ts";
import { SEARCH_OPS } from "./search-op.ts";
import { TEST_OPS } from "./test-op.ts";
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
    ...TEST_OPS,
  } as Readonly<Record<string, AnyOpHandler>>),
);

/** The operations as one caller's scripts have them. */
export function opsOf(caller: OpCaller): HostOps {
  return {
    invoke(op, args, io) {
      const handler = HANDLERS.get(op);
      if (handler === undefined) throw new MeshError("unimplemented", `${op} is not available in a run`);
      return handler(caller, args, io) as Json | undefined | Promise<Json | undefined>;
    },
  };
}
