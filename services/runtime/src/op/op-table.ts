/** How the operations of scripts are served: handlers by name, each with the arguments its name declares. */

import type { Json } from "@mesh/kernel";
import type { OpArgs, OpIo, OpName, OpResult } from "@mesh/scripts";

import type { AgentContext } from "../agent-context.ts";

/** Who calls: the agent whose script it is, and the assistant it belongs to. */
export interface OpCaller {
  readonly context: AgentContext;
  readonly assistantId: string;
  /** How many calls of scripts are around this one; those around the agent when absent. */
  readonly scripts?: number;
}

/** Serves one operation; what it throws is thrown in the script. */
export type OpHandler<Name extends OpName> = (
  caller: OpCaller,
  args: OpArgs<Name>,
  io: OpIo,
) => OpResult<Name> | Promise<OpResult<Name>>;

/** Handlers of some operations. */
export type OpHandlers = { readonly [Name in OpName]?: OpHandler<Name> };

/** A handler whose arguments were checked against its name. */
export type AnyOpHandler = (caller: OpCaller, args: readonly Json[], io: OpIo) => unknown;
