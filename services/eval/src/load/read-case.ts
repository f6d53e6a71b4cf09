/** Reads one case: its fields, its input, its dialogue. */

import { hash } from "node:crypto";

import { canonicalJson, isObject, type Json, type JsonObject, parseDuration } from "@mesh/kernel";

import { type Checkpoint, DEFAULT_MAX_TURNS, type Dialogue, type EvalCase, type InputMessage } from "../eval-case.ts";
import { type FieldPath, FieldReader, type Fields, nameOf } from "./field-reader.ts";
import type { LoadProblem } from "./problem.ts";
import { readAssertions } from "./read-assertion.ts";
import type { PlacedValue } from "./value-stream.ts";

const CASE_FIELDS = [
  "id",
  "input",
  "assert",
  "expected",
  "user",
  "team",
  "metadata",
  "options",
  "timeout",
  "skip",
  "before",
  "after",
  "simulator",
  "checkpoints",
  "max_turns",
  "name",
  "description",
  "tags",
];
const OPTION_FIELDS = [
  "connector",
  "mode",
  "search",
  "disable_global_prompts",
  "metadata",
  "skip",
  "temperature",
  "max_tokens",
];
const SKIP_FIELDS = ["history", "trace", "output", "keyword", "search"];
const ROLES = ["system", "developer", "user", "assistant", "tool"] as const;
const MESSAGE_FIELDS = ["role", "content", "name", "tool_call_id", "tool_calls", "refusal"];
const MAX_ID_CHARS = 500;
const MAX_TURNS = 1_000;

/** What a whole eval adds to each case. */
export interface CaseDefaults {
  /** Plays the user where a case has checkpoints and names nobody. */
  readonly simulator?: string;
}

/** Reads a case; undefined when something about it is a problem. */
export function readCase(
  placed: PlacedValue,
  file: string,
  problems: LoadProblem[],
  defaults: CaseDefaults = {},
): EvalCase | undefined {
  const before = problems.length;
  const reader = new FieldReader(placed, file, problems);
  if (isObject(placed.value) && typeof placed.value["id"] === "string") reader.label = placed.value["id"].trim();
  const fields = reader.fields(placed.value, [], CASE_FIELDS);
  if (fields === undefined) return undefined;
  const id = readId(fields, reader);
  const messages = readInput(fields.value["input"], reader);
  const timeoutMs = readTimeout(fields, reader);
  const { options, contextMetadata } = readOptions(fields, reader);
  const dialogue = readDialogue(fields, reader, defaults);
  const { user, team, before: beforeHook, after } = textsOf(fields, reader, ["user", "team", "before", "after"]);
  const skip = reader.flag(fields, "skip");
  const metadata = reader.record(fields, "metadata") ?? {};
  const assertions = readExpectations(fields, reader);
  if (problems.length > before || id === undefined || messages === undefined) return undefined;
  return {
    id,
    messages,
    assertions,
    metadata,
    options,
    contextMetadata,
    isSkipped: skip === true,
    raw: fields.value,
    hash: hash("sha256", canonicalJson(fields.value)).slice(0, 16),
    place: { file, line: placed.line },
    ...(dialogue === undefined ? {} : { dialogue }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(user === undefined ? {} : { user }),
    ...(team === undefined ? {} : { team }),
    ...(beforeHook === undefined ? {} : { before: beforeHook }),
    ...(after === undefined ? {} : { after }),
  };
}

function textsOf<Key extends string>(
  fields: Fields,
  reader: FieldReader,
  keys: readonly Key[],
): Readonly<Partial<Record<Key, string>>> {
  const out: Partial<Record<Key, string>> = {};
  for (const key of keys) {
    const text = reader.text(fields, key);
    if (text !== undefined && text !== "") out[key] = text;
  }
  return out;
}

function readId(fields: Fields, reader: FieldReader): string | undefined {
  const { id } = fields.value;
  if (typeof id === "number" && Number.isSafeInteger(id)) return String(id);
  const text = reader.requiredText(fields, "id")?.normalize("NFC").trim();
  if (text !== undefined && text.length > MAX_ID_CHARS) {
    return reader.refuse(["id"], `id has ${text.length} characters; ${MAX_ID_CHARS} are the most`);
  }
  return text;
}

function readExpectations(fields: Fields, reader: FieldReader): EvalCase["assertions"] {
  const { assert, expected } = fields.value;
  if (assert !== undefined) return readAssertions(assert, ["assert"], reader);
  return expected === undefined ? [] : [{ type: "equals", value: expected }];
}

function readTimeout(fields: Fields, reader: FieldReader): number | undefined {
  const text = reader.text(fields, "timeout");
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  return reader.refuse(["timeout"], `timeout must be a duration such as 30s, 1m30s or 500ms, not "${text}"`);
}

function readOptions(
  fields: Fields,
  reader: FieldReader,
): { readonly options: JsonObject; readonly contextMetadata: JsonObject } {
  const none = { options: {}, contextMetadata: {} };
  if (fields.value["options"] === undefined) return none;
  const read = reader.fields(fields.value["options"], ["options"], OPTION_FIELDS);
  if (read === undefined) return none;
  for (const key of ["connector", "mode"]) reader.text(read, key);
  for (const key of ["search", "disable_global_prompts"]) reader.flag(read, key);
  const { metadata: _metadata, ...options } = read.value;
  const skip = read.value["skip"];
  if (skip !== undefined) {
    const skips = reader.fields(skip, ["options", "skip"], SKIP_FIELDS);
    if (skips !== undefined) for (const key of SKIP_FIELDS) reader.flag(skips, key);
  }
  return { options, contextMetadata: reader.record(read, "metadata") ?? {} };
}

/** An input as messages: a text, a message, or a conversation. */
export function readInput(input: Json | undefined, reader: FieldReader): readonly InputMessage[] | undefined {
  if (input === undefined) return reader.refuse([], "input is missing");
  if (typeof input === "string") {
    return input.trim() === "" ? reader.refuse(["input"], "input is empty") : [{ role: "user", content: input }];
  }
  if (!Array.isArray(input)) {
    const message = readMessage(input, ["input"], reader);
    return message === undefined ? undefined : [message];
  }
  if (input.length === 0) return reader.refuse(["input"], "input is an empty conversation");
  const messages = (input as readonly Json[]).map((each, index) => readMessage(each, ["input", index], reader));
  const good = messages.filter((message) => message !== undefined);
  return good.length === messages.length ? good : undefined;
}

function readMessage(value: Json, path: FieldPath, reader: FieldReader): InputMessage | undefined {
  const fields = reader.fields(value, path, MESSAGE_FIELDS);
  if (fields === undefined) return undefined;
  const { content, role: given = "user" } = fields.value;
  const role = ROLES.find((each) => each === given);
  if (role === undefined)
    return reader.refuse([...path, "role"], `${nameOf([...path, "role"])} must be one of ${ROLES.join(", ")}`);
  const hasCalls = Array.isArray(fields.value["tool_calls"]);
  const isContent = typeof content === "string" || Array.isArray(content) || (hasCalls && (content ?? null) === null);
  if (!isContent) return reader.refuse(path, `${nameOf([...path, "content"])} must be a text or a list of parts`);
  if (Array.isArray(content) && !readParts(content as readonly Json[], [...path, "content"], reader)) return undefined;
  return { ...(fields.value as unknown as InputMessage), role };
}

function readParts(parts: readonly Json[], path: FieldPath, reader: FieldReader): boolean {
  let good = true;
  for (const [index, part] of parts.entries()) {
    if (isObject(part) && typeof part["type"] === "string") continue;
    reader.refuse([...path, index], `${nameOf([...path, index])} must be a part such as {"type": "text", "text": …}`);
    good = false;
  }
  return good;
}

function readDialogue(fields: Fields, reader: FieldReader, defaults: CaseDefaults): Dialogue | undefined {
  const { simulator, checkpoints } = fields.value;
  const maxTurns = reader.whole(fields, "max_turns", [1, MAX_TURNS]) ?? DEFAULT_MAX_TURNS;
  if (simulator === undefined && checkpoints === undefined) return undefined;
  if (checkpoints === undefined) return reader.refuse(["simulator"], "a case with a simulator needs checkpoints");
  const read = readCheckpoints(checkpoints, reader);
  if (simulator === undefined && defaults.simulator === undefined) {
    return reader.refuse(
      ["checkpoints"],
      "a case with checkpoints needs a simulator: set simulator.use, or give --simulator",
    );
  }
  const player =
    simulator === undefined
      ? { agentId: defaults.simulator ?? "", metadata: {} }
      : readSimulator(simulator, reader, defaults);
  return player === undefined ? undefined : { simulator: player, checkpoints: read, maxTurns };
}

function readSimulator(value: Json, reader: FieldReader, defaults: CaseDefaults): Dialogue["simulator"] | undefined {
  const fields = reader.fields(value, ["simulator"], ["use", "options"]);
  if (fields === undefined) return undefined;
  const use = reader.text(fields, "use") ?? defaults.simulator;
  if (use === undefined || use === "") return reader.refuse(["simulator"], "simulator.use is missing");
  const given = fields.value["options"];
  const options =
    given === undefined ? undefined : reader.fields(given, ["simulator", "options"], ["metadata", "connector"]);
  const connector = options === undefined ? undefined : reader.text(options, "connector");
  const metadata = (options === undefined ? undefined : reader.record(options, "metadata")) ?? {};
  return { agentId: use.replace(/^agents:/, ""), metadata, ...(connector === undefined ? {} : { connector }) };
}

function readCheckpoints(value: Json, reader: FieldReader): readonly Checkpoint[] {
  if (!Array.isArray(value) || value.length === 0) {
    reader.refuse(["checkpoints"], "checkpoints must be a list with at least one checkpoint");
    return [];
  }
  const list = (value as readonly Json[]).flatMap((each, index) => readCheckpoint(each, index, reader) ?? []);
  checkOrder(list, reader);
  return list;
}

function readCheckpoint(value: Json, index: number, reader: FieldReader): Checkpoint | undefined {
  const path = ["checkpoints", index];
  const fields = reader.fields(value, path, ["id", "description", "assert", "after", "required"]);
  if (fields === undefined) return undefined;
  const id = reader.requiredText(fields, "id");
  const description = reader.text(fields, "description");
  const isRequired = reader.flag(fields, "required") ?? true;
  const after = reader.texts(fields, "after");
  if (fields.value["assert"] === undefined) reader.refuse(path, `${nameOf([...path, "assert"])} is missing`);
  const assertions = readAssertions(fields.value["assert"], [...path, "assert"], reader);
  return id === undefined
    ? undefined
    : { id, assertions, after, isRequired, ...(description === undefined ? {} : { description }) };
}

/** `after` names checkpoints that exist, and no circle of them. */
function checkOrder(list: readonly Checkpoint[], reader: FieldReader): void {
  const byId = new Map<string, Checkpoint>();
  for (const [index, checkpoint] of list.entries()) {
    if (byId.has(checkpoint.id))
      reader.refuse(["checkpoints", index, "id"], `there are two checkpoints "${checkpoint.id}"`);
    byId.set(checkpoint.id, checkpoint);
  }
  const reachable = new Set<string>();
  for (let before = -1; before !== reachable.size;) {
    before = reachable.size;
    for (const { id, after } of list) {
      if (after.every((each) => reachable.has(each) || !byId.has(each))) reachable.add(id);
    }
  }
  for (const [index, { id, after }] of list.entries()) {
    const path = ["checkpoints", index, "after"];
    for (const each of after) {
      if (!byId.has(each)) reader.refuse(path, `checkpoint "${id}" comes after "${each}", which does not exist`);
    }
    if (!reachable.has(id))
      reader.refuse(path, `checkpoint "${id}" can never be reached: its "after" leads back to itself`);
  }
}
