/** Reads assertions: their fields, their patterns and paths, whom they ask. */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import { parseJsonPath } from "../assert/json-path.ts";
import { compilePattern } from "../assert/pattern.ts";
import type { Assertion, AssertionType, JsonTypeName, TextOptions, ToolExpectation } from "../eval-case.ts";
import { type FieldPath, type FieldReader, type Fields, nameOf, nearest } from "./field-reader.ts";

const COMMON = ["type", "value", "negate", "message"];
const TYPE_NAMES: readonly JsonTypeName[] = ["string", "number", "boolean", "array", "object", "null"];
const NORMAL_FORMS = ["nfc", "nfkc", "loose"] as const;

type Rule = (fields: Fields, reader: FieldReader) => Assertion | undefined;

interface Row {
  /** Fields besides the common ones. */
  readonly fields: readonly string[];
  readonly read: Rule;
}

const ROWS: Readonly<Record<AssertionType, Row>> = {
  equals: { fields: [], read: (fields, reader) => withValue(fields, reader, (value) => ({ type: "equals", value })) },
  contains: { fields: ["options"], read: (fields, reader) => containing("contains", fields, reader) },
  not_contains: { fields: ["options"], read: (fields, reader) => containing("not_contains", fields, reader) },
  json_path: { fields: ["path"], read: readJsonPath },
  regex: { fields: [], read: readRegex },
  type: { fields: ["path"], read: readType },
  schema: { fields: ["path"], read: readSchema },
  tool_called: { fields: [], read: readToolCalled },
  tool_result: { fields: [], read: readToolResult },
  script: { fields: ["script", "use"], read: readScript },
  agent: { fields: ["use", "options"], read: readAgent },
};

/** The assertions of a case or checkpoint: one, or a list. */
export function readAssertions(value: Json | undefined, path: FieldPath, reader: FieldReader): readonly Assertion[] {
  if (value === undefined) return [];
  const list = Array.isArray(value)
    ? (value as readonly Json[]).map((each, index) => [each, [...path, index]] as const)
    : [[value, path] as const];
  if (list.length === 0) reader.refuse(path, `${nameOf(path)} is an empty list; leave it out, or claim something`);
  return list.flatMap(([each, at]) => readAssertion(each, at, reader) ?? []);
}

function readAssertion(value: Json, path: FieldPath, reader: FieldReader): Assertion | undefined {
  if (!isObject(value)) return void reader.fields(value, path, []);
  const type = value["type"] ?? "equals";
  const row = typeof type === "string" && Object.hasOwn(ROWS, type) ? ROWS[type as AssertionType] : undefined;
  if (row === undefined) {
    const known = Object.keys(ROWS);
    const meant = typeof type === "string" ? nearest(type, known) : undefined;
    const hint = meant === undefined ? `there are ${known.join(", ")}` : `did you mean "${meant}"?`;
    return reader.refuse([...path, "type"], `there is no assertion ${JSON.stringify(type)}; ${hint}`);
  }
  const fields = reader.fields(value, path, [...COMMON, ...row.fields]);
  if (fields === undefined) return undefined;
  const assertion = row.read(fields, reader);
  const negate = reader.flag(fields, "negate");
  const message = reader.text(fields, "message");
  if (assertion === undefined) return undefined;
  return {
    ...assertion,
    ...(negate === true ? { negate } : {}),
    ...(message === undefined || message === "" ? {} : { message }),
  };
}

function withValue(
  { value, path }: Fields,
  reader: FieldReader,
  make: (value: Json) => Assertion | undefined,
): Assertion | undefined {
  const wanted = value["value"];
  if (wanted === undefined) return reader.refuse(path, `${nameOf([...path, "value"])} is missing`);
  return make(wanted);
}

function containing(type: "contains" | "not_contains", fields: Fields, reader: FieldReader): Assertion | undefined {
  const value = reader.requiredText(fields, "value", "space counts");
  const options = readTextOptions(fields, reader);
  return value === undefined ? undefined : { type, value, ...(options === undefined ? {} : { options }) };
}

function readTextOptions({ value, path }: Fields, reader: FieldReader): TextOptions | undefined {
  if (value["options"] === undefined) return undefined;
  const options = reader.fields(value["options"], [...path, "options"], ["ignore_case", "normalize"]);
  if (options === undefined) return undefined;
  const ignoreCase = reader.flag(options, "ignore_case");
  const form = reader.text(options, "normalize");
  const normalize = NORMAL_FORMS.find((each) => each === form);
  if (form !== undefined && normalize === undefined) {
    reader.refuse([...options.path, "normalize"], `normalize must be one of ${NORMAL_FORMS.join(", ")}`);
  }
  return { ...(ignoreCase === undefined ? {} : { ignoreCase }), ...(normalize === undefined ? {} : { normalize }) };
}

function readRegex(fields: Fields, reader: FieldReader): Assertion | undefined {
  const value = reader.requiredText(fields, "value");
  if (value === undefined || !isPattern(value, [...fields.path, "value"], reader)) return undefined;
  return { type: "regex", value };
}

function isPattern(pattern: string, path: FieldPath, reader: FieldReader): boolean {
  try {
    compilePattern(pattern);
    return true;
  } catch (error) {
    reader.refuse(path, MeshError.from(error).message);
    return false;
  }
}

function readJsonPath(fields: Fields, reader: FieldReader): Assertion | undefined {
  const path = readPath(fields, reader);
  if (!Object.hasOwn(fields.value, "path"))
    reader.refuse(fields.path, `${nameOf([...fields.path, "path"])} is missing`);
  return withValue(fields, reader, (value) => (path === undefined ? undefined : { type: "json_path", path, value }));
}

function readPath(fields: Fields, reader: FieldReader): string | undefined {
  const path = reader.text(fields, "path");
  if (path === undefined) return undefined;
  try {
    parseJsonPath(path);
    return path;
  } catch (error) {
    return reader.refuse([...fields.path, "path"], MeshError.from(error).message);
  }
}

function readType(fields: Fields, reader: FieldReader): Assertion | undefined {
  const name = reader.requiredText(fields, "value");
  const path = readPath(fields, reader);
  const value = TYPE_NAMES.find((each) => each === name);
  if (name !== undefined && value === undefined) {
    return reader.refuse([...fields.path, "value"], `there is no type "${name}"; there are ${TYPE_NAMES.join(", ")}`);
  }
  return value === undefined ? undefined : { type: "type", value, ...(path === undefined ? {} : { path }) };
}

function readSchema(fields: Fields, reader: FieldReader): Assertion | undefined {
  const path = readPath(fields, reader);
  return withValue(fields, reader, (value) => {
    if (isObject(value) || typeof value === "boolean") {
      return { type: "schema", value: value, ...(path === undefined ? {} : { path }) };
    }
    return reader.refuse([...fields.path, "value"], `${nameOf([...fields.path, "value"])} must be a JSON Schema`);
  });
}

function readToolCalled(fields: Fields, reader: FieldReader): Assertion | undefined {
  return withValue(fields, reader, (value) => {
    const list = Array.isArray(value) ? (value as readonly Json[]) : [value];
    const path = [...fields.path, "value"];
    if (list.length === 0) return reader.refuse(path, `${nameOf(path)} names no tool`);
    const anyOf = list.map((each, index) => readTool(each, Array.isArray(value) ? [...path, index] : path, reader));
    const good = anyOf.filter((each) => each !== undefined);
    return good.length === anyOf.length ? { type: "tool_called", anyOf: good } : undefined;
  });
}

function readTool(value: Json, path: FieldPath, reader: FieldReader): ToolExpectation | undefined {
  if (typeof value === "string") {
    return value.trim() === "" ? reader.refuse(path, `${nameOf(path)} names no tool`) : { name: value };
  }
  if (!isObject(value)) return reader.refuse(path, `${nameOf(path)} must be a tool's name or {name, arguments}`);
  const fields = reader.fields(value, path, ["name", "arguments"]);
  if (fields === undefined) return undefined;
  const name = reader.requiredText(fields, "name");
  const args = reader.record(fields, "arguments");
  if (args !== undefined) checkPatterns(args, [...path, "arguments"], reader);
  return name === undefined ? undefined : { name, ...(args === undefined ? {} : { arguments: args }) };
}

function readToolResult(fields: Fields, reader: FieldReader): Assertion | undefined {
  return withValue(fields, reader, (value) => {
    const path = [...fields.path, "value"];
    if (typeof value === "string") return { type: "tool_result", tool: value };
    const inner = reader.fields(value, path, ["tool", "result"]);
    if (inner === undefined) return undefined;
    const tool = reader.requiredText(inner, "tool");
    const { result } = inner.value;
    if (result !== undefined) checkPatterns(result, [...path, "result"], reader);
    return tool === undefined ? undefined : { type: "tool_result", tool, ...(result === undefined ? {} : { result }) };
  });
}

/** Patterns inside of expected values: `regex:…`. */
function checkPatterns(value: Json, path: FieldPath, reader: FieldReader): void {
  if (typeof value === "string") {
    if (value.startsWith("regex:")) isPattern(value.slice("regex:".length), path, reader);
  } else if (Array.isArray(value)) {
    for (const [index, each] of (value as readonly Json[]).entries()) checkPatterns(each, [...path, index], reader);
  } else if (isObject(value)) {
    for (const [key, each] of Object.entries(value)) checkPatterns(each, [...path, key], reader);
  }
}

function readScript(fields: Fields, reader: FieldReader): Assertion | undefined {
  const { value } = fields.value;
  const written = reader.text(fields, "script") ?? reader.text(fields, "use");
  const script = written?.replace(/^scripts:/, "scripts.");
  if (script === undefined || script === "") {
    return reader.refuse(
      fields.path,
      `${nameOf([...fields.path, "script"])} is missing: name a function, such as scripts.test.Validate`,
    );
  }
  return { type: "script", script, ...(value === undefined ? {} : { value }) };
}

function readAgent(fields: Fields, reader: FieldReader): Assertion | undefined {
  const use = reader.requiredText(fields, "use");
  const { path } = fields;
  const options = fields.value["options"];
  const read =
    options === undefined
      ? undefined
      : reader.fields(options, [...path, "options"], ["metadata", "connector", "criteria"]);
  const criteria = fields.value["value"] ?? read?.value["criteria"];
  if (criteria === undefined)
    reader.refuse(path, `${nameOf([...path, "value"])} is missing: say what the answer must be`);
  if (use === undefined || criteria === undefined) return undefined;
  if (!use.startsWith("agents:")) {
    return reader.refuse(
      [...path, "use"],
      `${nameOf([...path, "use"])} must be "agents:ID", such as "agents:${use.replace(/^agents\./, "")}"`,
    );
  }
  const connector = read === undefined ? undefined : reader.text(read, "connector");
  const metadata = read === undefined ? undefined : reader.record(read, "metadata");
  return {
    type: "agent",
    agentId: use.slice("agents:".length),
    criteria,
    ...(connector === undefined ? {} : { connector }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
