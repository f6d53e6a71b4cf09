/** What an eval is given to run, as it is written on a command line. Pure. */

import { type Json, MeshError } from "@mesh/kernel";

/** An input. */
export type EvalInput =
  | { readonly kind: "file"; readonly path: string }
  /** Text of cases from elsewhere, such as standard input. */
  | { readonly kind: "cases"; readonly text: string; readonly name: string }
  | { readonly kind: "message"; readonly text: string }
  /** An assistant that makes cases. */
  | { readonly kind: "generator"; readonly agentId: string; readonly params: Readonly<Record<string, Json>> }
  /** A function that makes cases. */
  | { readonly kind: "script"; readonly name: string }
  /** Test functions of a module: `<assistant>.<module>`, or a module of the assistant under test. */
  | { readonly kind: "tests"; readonly module: string };

const MAX_COUNT = 1_000;

/** Reads an input; `isFile` knows whether there is a file of that name. */
export function parseInput(text: string, isFile: (path: string) => boolean): EvalInput {
  if (text.startsWith("agents:")) return generatorOf(text.slice("agents:".length));
  if (text.startsWith("scripts:")) return scriptOf(text.slice("scripts:".length));
  if (/^scripts\.\S+$/.test(text) && !isFile(text)) return { kind: "tests", module: text.slice("scripts.".length) };
  if (text.startsWith("@")) {
    const path = text.slice(1);
    if (isFile(path)) return { kind: "file", path };
    throw new MeshError("not_found", `there is no file ${path}; @ means a file, as with curl`);
  }
  const isName = /\.(?:jsonl|ndjson|json)$/i.test(text) && !/\s/.test(text.trim());
  if (isName || (text.includes("/") && isFile(text))) {
    if (isFile(text)) return { kind: "file", path: text };
    throw new MeshError("not_found", `there is no file ${text}`);
  }
  if (text.trim() === "")
    throw new MeshError("invalid_argument", "the message is empty; say what the assistant should be asked");
  return { kind: "message", text };
}

/** Text from standard input: cases if it looks like JSON, else a message. */
export function inputFromText(text: string): EvalInput {
  const first = text
    .replace(/^\uFEFF/, "")
    .trimStart()
    .slice(0, 2);
  if (/^[{[]/.test(first) || first === "//") return { kind: "cases", text, name: "stdin" };
  return { kind: "message", text: text.trim() };
}

function generatorOf(text: string): EvalInput {
  const [id = "", query = ""] = text.split("?", 2);
  if (id === "")
    throw new MeshError("invalid_argument", "agents: names no assistant, such as agents:tests.generator-agent?count=5");
  const params: Record<string, Json> = {};
  for (const [key, value] of new URLSearchParams(query)) params[key] = valueOf(value);
  const count = params["count"] ?? 5;
  if (typeof count !== "number" || !Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    throw new MeshError("invalid_argument", `count must be a whole number from 1 to ${MAX_COUNT}`);
  }
  return { kind: "generator", agentId: id, params: { ...params, count } };
}

function scriptOf(name: string): EvalInput {
  if (/^[\w./-]+\.\w+$/.test(name)) return { kind: "script", name };
  throw new MeshError("invalid_argument", `scripts:${name} must name a function, such as scripts:tests.gen.Generate`);
}

function valueOf(text: string): Json {
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}
