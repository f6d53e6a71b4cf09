/** The operations behind the `t` of a test function. */

import { MeshError } from "@mesh/kernel";

import type { TestPort } from "../test-port.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";

/** See the file comment. */
export const TEST_OPS: OpHandlers = {
  "test.Record": (caller, [what, details]) => {
    portOf(caller).record(what, details);
    return undefined;
  },
  "test.Match": (caller, [text, pattern]) => portOf(caller).match(text, pattern),
  "test.JSONPath": (caller, [value, path]) => portOf(caller).jsonPath(value, path),
  "test.Agent": (caller, [response, agent, options], io) => portOf(caller).agent(response, agent, options, io.signal),
};

function portOf({ context }: OpCaller): TestPort {
  const { test } = context.shared.ports;
  if (test !== undefined) return test;
  throw new MeshError("failed_precondition", "assertions work in tests only: run the file with yao agent eval");
}
