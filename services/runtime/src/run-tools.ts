/**
 * The tools of one run: the built-in ones it names, the gate in front of those that need an approval, and a place for
 * what of their output does not fit the history.
 */

import { ALLOW, type AgentTool, SharedState, sharedStateTool, type ToolSettings } from "@mesh/agent";
import { MeshError } from "@mesh/kernel";

import { askUserTool } from "./ask-user.ts";
import type { ModelCall } from "./model-call.ts";
import type { RunPorts } from "./run-input.ts";
import type { SavedRun } from "./saved-run.ts";

/** Tools and what they share; readable for the model as long as the run lasts, over all its segments. */
export interface RunTools {
  readonly settings: ToolSettings;
  readonly stash: SharedState;
}

/** Makes the tools that a call names. */
export async function runTools(
  { tools: names, approve }: Pick<ModelCall, "tools" | "approve">,
  ports: Pick<RunPorts, "tools">,
  saved: SavedRun | undefined,
): Promise<RunTools> {
  const stash = new SharedState();
  if (names.length === 0) return { settings: {}, stash };
  const offered = [...((await ports.tools?.()) ?? []), askUserTool];
  for (const name of names) requireTool(name, "tools", offered);
  // A misspelt name would leave the tool that was meant without its gate.
  for (const name of approve) requireTool(name, "approve", offered);
  for (const [key, value] of saved?.stash ?? []) await stash.set(key, value);
  const chosen = offered.filter((tool) => names.includes(tool.name));
  return {
    settings: { tools: [...chosen, sharedStateTool(stash)], outputStash: stash, ...gateOf(approve) },
    stash,
  };
}

function gateOf(approve: readonly string[]): Pick<ToolSettings, "middleware"> {
  if (approve.length === 0) return {};
  const guarded = new Set(approve);
  return {
    middleware: [
      {
        beforeTool: ({ name }) => (guarded.has(name) ? { kind: "ask", reason: `${name} needs your approval` } : ALLOW),
      },
    ],
  };
}

function requireTool(name: string, option: string, offered: readonly AgentTool[]): void {
  const known = offered.map((tool) => tool.name);
  if (known.includes(name)) return;
  throw new MeshError(
    "not_found",
    `there is no built-in tool ${JSON.stringify(name)}, which the option "${option}" names; there are ${known.join(", ")}`,
  );
}
