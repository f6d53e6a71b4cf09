/** The state of the workspace, for operations that need it. */

import { MeshError } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";
import type { StatePort } from "../state-port.ts";

/** The port to the state; an error that says what to do where there is none. */
export function stateOf({ shared }: AgentContext): StatePort {
  const { state } = shared.ports;
  if (state !== undefined) return state;
  throw new MeshError(
    "failed_precondition",
    "this run has no memory, models or chats: it was started without a workspace",
  );
}
