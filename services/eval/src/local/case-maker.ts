/** Cases that an assistant or a script makes. */

import type { App } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { Answer } from "../assert/answer.ts";
import { shown } from "../assert/json-equal.ts";
import { jsonIn } from "../assert/json-text.ts";
import type { Seat } from "../host.ts";

const QUIET = { history: true, trace: true, output: true };

/** Asks an assistant for cases about another one. */
export async function generateCases(
  seat: Pick<Seat, "ask">,
  request: {
    readonly agentId: string;
    readonly params: JsonObject;
    readonly target: JsonObject;
    readonly connector?: string;
  },
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const { agentId, params, target } = request;
  const content = JSON.stringify({ target_agent: target, ...params });
  const answer = await seat.ask({ agentId, messages: [{ role: "user", content }], options: { skip: QUIET } }, signal);
  const made = listOf(dataOf(answer));
  if (made !== undefined) return made;
  throw new MeshError("failed_precondition", `${agentId} made no cases; it said ${shown(answer.output, 200)}`);
}

/** Calls a function that returns cases. */
export async function scriptCases(
  seat: Pick<Seat, "process">,
  name: string,
  target: JsonObject,
  signal: AbortSignal,
): Promise<readonly Json[]> {
  const value = await seat.process(`scripts.${name}`, [target], signal);
  const made = value === undefined ? undefined : listOf(value);
  if (made !== undefined) return made;
  throw new MeshError(
    "failed_precondition",
    `scripts.${name} must return a list of cases; it returned ${shown(value, 200)}`,
  );
}

/** What a maker of cases is told of the assistant they are for. */
export function targetOf(agentId: string, app: App): JsonObject {
  const assistant = app.assistants.get(agentId);
  const own = `agents.${agentId}.`;
  const servers = assistant?.mcp.servers.map(({ serverId }) => serverId) ?? [];
  const tools = servers.flatMap((server) => {
    const file = app.mcpServers.get(`${own}${server}`) ?? app.mcpServers.get(server);
    return file === undefined ? [] : [{ server }];
  });
  return { id: agentId, name: assistant?.name ?? "", description: assistant?.description ?? "", tools };
}

function dataOf({ output }: Answer): Json | undefined {
  return typeof output === "string" ? jsonIn(output)?.value : output;
}

function listOf(value: Json | undefined): readonly Json[] | undefined {
  if (Array.isArray(value)) return (value as readonly Json[]).map(withAssert);
  if (!isObject(value)) return undefined;
  const inner = value["cases"] ?? value["test_cases"];
  if (Array.isArray(inner)) return (inner as readonly Json[]).map(withAssert);
  return Object.hasOwn(value, "input") ? [withAssert(value)] : undefined;
}

/** Some makers write `assertions`. */
function withAssert(value: Json): Json {
  if (!isObject(value) || !Object.hasOwn(value, "assertions")) return value;
  const { assertions, ...rest } = value;
  return Object.hasOwn(rest, "assert") ? rest : { ...rest, assert: assertions ?? [] };
}
