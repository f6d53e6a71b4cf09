/**
 * Assertions that need nobody's help. Pure.
 *
 * Each gives whether it holds, what it saw, and why not; one that cannot be judged throws.
 */

import { Validator } from "@cfworker/json-schema";
import { isObject, type Json, MeshError } from "@mesh/kernel";

import type { Assertion, AssertionType, JsonTypeName, TextOptions } from "../eval-case.ts";
import type { ToolCall } from "../result.ts";
import { type Answer, textOfOutput } from "./answer.ts";
import { differences, differenceText, jsonEqual, shown } from "./json-equal.ts";
import { parseJsonPath } from "./json-path.ts";
import { jsonIn } from "./json-text.ts";
import { compilePattern } from "./pattern.ts";
import { isExpectedCall, isTool, matchesPartly } from "./tool-match.ts";

/** How a claim went, before it is negated. */
export interface Finding {
  readonly holds: boolean;
  /** Why it does not hold, or how it does. */
  readonly message: string;
  readonly expected?: Json;
  readonly actual?: Json;
}

type StaticType = Exclude<AssertionType, "script" | "agent">;
type Check<Type extends StaticType> = (claim: Extract<Assertion, { readonly type: Type }>, answer: Answer) => Finding;

const MAX_TEXT_CHARS = 200;
const MAX_SCHEMA_ERRORS = 5;

/** Judges an assertion by the answer alone. */
export function checkStatic(claim: Extract<Assertion, { readonly type: StaticType }>, answer: Answer): Finding {
  switch (claim.type) {
    case "equals":
      return equals(claim, answer);
    case "contains":
    case "not_contains":
      return contains(claim, answer);
    case "json_path":
      return jsonPath(claim, answer);
    case "regex":
      return regex(claim, answer);
    case "type":
      return type(claim, answer);
    case "schema":
      return schema(claim, answer);
    case "tool_called":
      return toolCalled(claim, answer);
    case "tool_result":
      return toolResult(claim, answer);
  }
}

const equals: Check<"equals"> = ({ value: expected }, { output }) => {
  // What is expected as data is compared with the data in the text.
  const isData = typeof expected === "object" && expected !== null;
  const actual = typeof output === "string" && isData ? (jsonIn(output)?.value ?? output) : output;
  const holds = jsonEqual(actual, expected);
  if (holds) return { holds, message: "equal", expected, actual };
  const both = typeof actual === "string" && typeof expected === "string";
  const message = both
    ? `expected ${shown(expected, MAX_TEXT_CHARS)}, got ${shown(actual, MAX_TEXT_CHARS)}${unicodeHint(actual, expected)}`
    : differenceText(differences(actual, expected));
  return { holds, message, expected, actual };
};

const contains: Check<"contains" | "not_contains"> = ({ type: name, value, options }, { output }) => {
  const text = textOfOutput(output);
  const isThere = folded(text, options).includes(folded(value, options));
  const holds = isThere === (name === "contains");
  const where = shown(text, MAX_TEXT_CHARS);
  const hint = isThere ? "" : unicodeHint(text, value);
  const message = isThere ? `${shown(value)} is in ${where}` : `${shown(value)} is not in ${where}${hint}`;
  return { holds, message, expected: value, actual: output };
};

const regex: Check<"regex"> = ({ value }, { output }) => {
  const text = textOfOutput(output);
  const holds = compilePattern(value).test(text);
  return {
    holds,
    message: `${shown(value)} ${holds ? "matches" : "does not match"} ${shown(text, MAX_TEXT_CHARS)}`,
    expected: value,
    actual: output,
  };
};

const jsonPath: Check<"json_path"> = ({ path, value: expected }, { output }) => {
  const parsed = parseJsonPath(path);
  const { data, how } = dataOf(output);
  const found = data === undefined ? [] : parsed.find(data);
  const actual = parsed.isSingular || found.length === 1 ? (found[0] ?? null) : found;
  const isList = Array.isArray(expected);
  // A list of values stands for any of them where there is one value to compare.
  const holds =
    jsonEqual(actual, expected) ||
    (isList &&
      !Array.isArray(actual) &&
      found.length > 0 &&
      (expected as readonly Json[]).some((each) => jsonEqual(each, actual)));
  const there =
    found.length === 0
      ? data === undefined
        ? "the answer holds no JSON"
        : `${path} finds nothing`
      : `${path} is ${shown(actual)}`;
  return {
    holds,
    message: `${there}${how}, expected ${isList ? "it or one of " : ""}${shown(expected)}`,
    expected,
    actual,
  };
};

const type: Check<"type"> = ({ value, path }, { output }) => {
  const actual = path === undefined ? output : valueAt(path, output);
  const name = actual === undefined ? "nothing" : typeName(actual);
  const isJsonText =
    name === "string" && typeof actual === "string" && value !== "string" && jsonIn(actual)?.rule === "whole";
  const hint = isJsonText ? " (a text that holds JSON is a string; use json_path or schema for what is in it)" : "";
  return {
    holds: name === value,
    message: `${path ?? "the output"} is ${name}, expected ${value}${hint}`,
    expected: value,
    actual: name,
  };
};

const schema: Check<"schema"> = ({ value, path }, { output }) => {
  const { data } = dataOf(output);
  const actual = path === undefined ? data : data === undefined ? undefined : parseJsonPath(path).find(data)[0];
  if (actual === undefined) {
    return {
      holds: false,
      message: data === undefined ? "the answer holds no JSON" : `${path ?? "$"} finds nothing`,
      actual: output,
    };
  }
  const validator = new Validator(value, "2020-12", false);
  const { valid, errors } = validator.validate(actual);
  const told = errors
    .slice(-MAX_SCHEMA_ERRORS)
    .map(({ instanceLocation, error }) => `${instanceLocation.replace(/^#/, "$")}: ${error}`);
  return { holds: valid, message: valid ? "the schema fits" : told.join("; "), actual };
};

const toolCalled: Check<"tool_called"> = ({ anyOf }, { toolCalls }) => {
  const holds = anyOf.some((expected) => toolCalls.some((call) => isExpectedCall(call, expected)));
  const wanted = anyOf
    .map(({ name, arguments: args }) => (args === undefined ? name : `${name}(${shown(args)})`))
    .join(" or ");
  return {
    holds,
    message: `expected a call of ${wanted}; ${callsText(toolCalls)}`,
    expected: anyOf.map(({ name }) => name),
    actual: toolCalls.map(({ tool }) => tool),
  };
};

const toolResult: Check<"tool_result"> = ({ tool, result }, { toolCalls }) => {
  const calls = toolCalls.filter((call) => isTool(call, tool));
  const expected = { tool, ...(result === undefined ? {} : { result }) };
  if (calls.length === 0)
    return { holds: false, message: `${tool} was not called; ${callsText(toolCalls)}`, expected, actual: null };
  // A tool may fail, be called again and succeed: any call may be the one.
  const good = calls.find(
    (call) => call.error === undefined && (result === undefined || matchesPartly(dataIn(call.result), result)),
  );
  const last = calls.at(-1);
  const actual = last?.error === undefined ? (last?.result ?? null) : { error: last.error };
  const which = calls.length === 1 ? "its call" : `none of its ${calls.length} calls`;
  const message =
    good === undefined
      ? `${tool}: ${which} ${calls.length === 1 ? "does not have" : "has"} the result ${result === undefined ? "of a success" : shown(result)}; the last one gave ${shown(actual, MAX_TEXT_CHARS)}`
      : `${tool} gave the result`;
  return { holds: good !== undefined, message, expected, actual };
};

function callsText(calls: readonly ToolCall[]): string {
  if (calls.length === 0) return "no tool was called";
  return `called were ${calls.map(({ tool, arguments: args }) => `${tool}(${shown(args ?? {})})`).join(", ")}`;
}

/** The data of an output: itself, or what its text holds. */
function dataOf(output: Json): { readonly data: Json | undefined; readonly how: string } {
  if (typeof output !== "string") return { data: output, how: "" };
  const found = jsonIn(output);
  return {
    data: found?.value,
    how: found === undefined || found.rule === "whole" ? "" : ` (JSON found as ${found.rule} text)`,
  };
}

function dataIn(result: Json | undefined): Json | undefined {
  if (typeof result !== "string") return result;
  const found = jsonIn(result);
  return found?.rule === "whole" ? found.value : result;
}

function valueAt(path: string, output: Json): Json | undefined {
  const { data } = dataOf(output);
  return data === undefined ? undefined : parseJsonPath(path).find(data)[0];
}

function typeName(value: Json): JsonTypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isObject(value)) return "object";
  const name = typeof value;
  if (name === "string" || name === "number" || name === "boolean") return name;
  throw new MeshError("internal", `a value of type ${name} is no JSON`);
}

function folded(text: string, { ignoreCase, normalize }: TextOptions = {}): string {
  const formed =
    normalize === undefined
      ? text
      : normalize === "loose"
        ? loose(text)
        : text.normalize(normalize === "nfc" ? "NFC" : "NFKC");
  return ignoreCase === true ? formed.toLowerCase() : formed;
}

/** Without the differences that a reader does not see. */
function loose(text: string): string {
  return text
    .normalize("NFKC")
    .replaceAll(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replaceAll(/[\u201C-\u201F]/g, '"')
    .replaceAll(/[\u2010-\u2015]/g, "-")
    .replaceAll(/\s+/gu, " ");
}

function unicodeHint(actual: string, expected: string): string {
  const options = loose(actual).includes(loose(expected))
    ? ' (differs only by Unicode form; options.normalize "loose" accepts that)'
    : "";
  return options;
}
