/**
 * Whether a tool call is the one an assertion means.
 *
 * M1  A name matches the whole name or its end after a separator: `setup` is `agents_expense_tools__setup`, and `set` is not `reset`.
 * M2  Given arguments and results are partial: only the fields that are named count, at any depth. Lists match whole.
 * M3  An expected text `regex:…` is a pattern for the text or the printed value.
 */

import { isObject, type Json } from "@mesh/kernel";

import type { ToolExpectation } from "../eval-case.ts";
import type { ToolCall } from "../result.ts";
import { jsonEqual } from "./json-equal.ts";
import { compilePattern } from "./pattern.ts";

const SEPARATORS = ["__", ".", "/", ":"];

/** Whether a call is of the tool with this name. */
export function isTool({ server, tool }: ToolCall, name: string): boolean {
  return [tool, `${server}__${tool}`, `${server}.${tool}`].some(
    (full) => full === name || SEPARATORS.some((separator) => full.endsWith(`${separator}${name}`)),
  );
}

/** Whether a call is as expected. */
export function isExpectedCall(call: ToolCall, { name, arguments: args }: ToolExpectation): boolean {
  if (!isTool(call, name)) return false;
  return args === undefined || matchesPartly(parsedArguments(call.arguments), args);
}

/** Whether a value has what is expected of it. */
export function matchesPartly(actual: Json | undefined, expected: Json): boolean {
  if (actual === undefined) return false;
  if (typeof expected === "string" && expected.startsWith("regex:")) {
    const pattern = compilePattern(expected.slice("regex:".length));
    return pattern.test(typeof actual === "string" ? actual : JSON.stringify(actual));
  }
  if (isObject(expected)) {
    return (
      isObject(actual) &&
      Object.entries(expected).every(([key, each]) =>
        matchesPartly(Object.hasOwn(actual, key) ? (actual[key] as Json) : undefined, each),
      )
    );
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const [wanted, given] = [expected as readonly Json[], actual as readonly Json[]];
    return wanted.length === given.length && wanted.every((each, index) => matchesPartly(given[index], each));
  }
  return jsonEqual(actual, expected);
}

/** Arguments that a model wrote as a text; stray quotes at their end are no part of them. */
function parsedArguments(args: Json | undefined): Json {
  if (typeof args !== "string") return args ?? {};
  const text = args.trim();
  if (text === "") return {};
  for (const candidate of [text, text.replace(/["'`]+$/, "")]) {
    try {
      return JSON.parse(candidate) as Json;
    } catch {
      // The next form may be one.
    }
  }
  return args;
}
