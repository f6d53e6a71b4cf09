/** The group `encoding`: base64, hex, JSON and YAML, both ways. Pure. */

import { type Json, MeshError } from "@mesh/kernel";
import { jsonrepair } from "jsonrepair";
import { parse as parseYaml, stringify as stringifyYaml } from "yaml";

import type { ProcessArgs } from "./process-args.ts";
import { functionGroup, type ProcessGroup } from "./process-group.ts";

const MAX_ALIASES = 100;

/** `encoding.{base64,hex,json,yaml}.{Encode,Decode}`, `encoding.json.{Parse,Repair}`. */
export function encodingGroup(): ProcessGroup {
  return functionGroup({
    "base64.Encode": (args) => Buffer.from(args.text(0, "text")).toString("base64"),
    "base64.Decode": (args) => decode(args, "base64", /^[A-Za-z0-9+/_-]*={0,2}$/),
    "hex.Encode": (args) => Buffer.from(args.text(0, "text")).toString("hex"),
    "hex.Decode": (args) => decode(args, "hex", /^(?:[0-9a-fA-F]{2})*$/),
    "json.Encode": (args) => JSON.stringify(args.json(0)),
    "json.Decode": (args) => parsed("JSON", () => JSON.parse(args.text(0, "text")) as Json),
    "json.Parse": (args) => parseLenient(args.text(0, "text")),
    "json.Repair": (args) => parsed("JSON", () => jsonrepair(args.text(0, "text"))),
    "yaml.Encode": (args) => stringifyYaml(args.json(0)),
    "yaml.Decode": (args) => parsed("YAML", () => yamlValue(args.text(0, "text"))),
  });
}

/** JSON text, repaired when need be: models forget quotes, commas and closing brackets. */
export function parseLenient(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return parsed("JSON", () => JSON.parse(jsonrepair(text)) as Json);
  }
}

function decode(args: ProcessArgs, encoding: "base64" | "hex", shape: RegExp): string {
  const text = args.text(0, "text").replaceAll(/\s/g, "");
  return shape.test(text)
    ? Buffer.from(text, encoding).toString()
    : args.refuse(`argument 1 (text) is not ${encoding}`);
}

// Through JSON text: YAML knows values (dates, maps with object keys) that must not leave as they are.
function yamlValue(text: string): Json {
  const value: unknown = parseYaml(text, { maxAliasCount: MAX_ALIASES, uniqueKeys: false, schema: "core" });
  return value === undefined ? null : (JSON.parse(JSON.stringify(value)) as Json);
}

function parsed<T>(what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    const reason = cause instanceof RangeError ? "it is nested too deeply" : (cause as Error).message.split("\n", 1)[0];
    throw new MeshError("invalid_argument", `the text is not ${what}: ${reason}`, { cause });
  }
}
