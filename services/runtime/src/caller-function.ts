/**
 * What whoever started a run adds to its models: functions that the caller runs itself, and the form of the answer.
 *
 * F1  A call of such a function is the answer: the run ends with finish reason `tool_calls`, and the caller goes on with a new
 *     run whose messages hold the results.
 * F2  They are for the run's own agents (delegates included), not for agents that those call: nobody would answer there.
 */

import type { AgentTool } from "@mesh/agent";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { ResponseFormat, ToolChoice } from "@mesh/llm";

import { CALLER, type SourcedTool } from "./model-run.ts";

const MAX_FUNCTIONS = 128;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Functions in the form of Chat Completions as tools that nobody runs; entries that are none are left out. */
export function functionsOf(tools: Json | undefined): readonly SourcedTool[] {
  if (!Array.isArray(tools)) return [];
  return (tools as readonly Json[]).flatMap((each): SourcedTool[] => {
    const fn = isObject(each) ? each["function"] : undefined;
    if (!isObject(fn) || typeof fn["name"] !== "string") return [];
    const { name, description, parameters } = fn;
    const tool: AgentTool = {
      name,
      description: typeof description === "string" ? description : "",
      parameters: isObject(parameters) ? parameters : { type: "object" },
    };
    return [{ server: CALLER, name, tool }];
  });
}

/** The functions in the option `functions` of a run; `offered` are the tools its model has already. */
export function callerFunctions(options: JsonObject, offered: readonly SourcedTool[]): readonly SourcedTool[] {
  const { functions: given = null } = options;
  if (given === null) return [];
  const functions = functionsOf(given);
  if (!Array.isArray(given) || functions.length !== given.length || functions.length > MAX_FUNCTIONS) {
    throw new MeshError(
      "invalid_argument",
      `the option "functions" must be a list of at most ${MAX_FUNCTIONS} functions {type: "function", function: {name, description, parameters}}`,
    );
  }
  const taken = new Set(offered.map(({ tool }) => tool.name));
  for (const { name } of functions) {
    if (!NAME.test(name)) {
      throw new MeshError(
        "invalid_argument",
        `a function's name has 1 to 64 letters, digits, _ and -, unlike "${name}"`,
      );
    }
    if (taken.has(name)) {
      throw new MeshError(
        "invalid_argument",
        `there are two tools named "${name}": the assistant may have one of its own; give your function another name`,
      );
    }
    taken.add(name);
  }
  return functions;
}

/** The form that the option `response_format` asks of an answer; undefined where any will do. */
export function responseFormatOf(options: JsonObject): ResponseFormat | undefined {
  const { response_format: format } = options;
  if (!isObject(format)) return undefined;
  if (format["type"] === "json_object") return { name: "answer", schema: { type: "object" } };
  const wanted = format["json_schema"];
  if (format["type"] !== "json_schema" || !isObject(wanted)) return undefined;
  const { name, description, schema } = wanted;
  return {
    name: typeof name === "string" && name !== "" ? name : "answer",
    ...(typeof description === "string" ? { description } : {}),
    schema: isObject(schema) ? schema : { type: "object" },
  };
}

/**
 * What the option `tool_choice` makes the model do: call one function of the caller, or any of them. "Any" is heard only where
 * there are no other tools: a model that must go on calling those would never come to an answer.
 */
export function toolChoiceOf(options: JsonObject, tools: readonly SourcedTool[]): ToolChoice | undefined {
  const { tool_choice: choice } = options;
  const isOwn = ({ server }: SourcedTool): boolean => server === CALLER;
  if (choice === "required") return tools.length > 0 && tools.every(isOwn) ? "required" : undefined;
  const wanted = isObject(choice) ? choice["function"] : undefined;
  const name = isObject(wanted) ? wanted["name"] : undefined;
  if (typeof name !== "string") return undefined;
  if (tools.some((each) => isOwn(each) && each.name === name)) return { name };
  throw new MeshError("invalid_argument", `tool_choice names "${name}", which is none of the functions of the request`);
}
