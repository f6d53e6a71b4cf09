/**
 * Everything that must be right before anything runs: the app, the assistant, the cases and all that they name. Whatever is wrong
 * is told at once.
 */

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { type App, APP_LIMITS, loadApp, readAppDirectory } from "@mesh/assistants";
import { errorText, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { compilePattern } from "../assert/pattern.ts";
import type { EvalCase } from "../eval-case.ts";
import type { EvalHost, FunctionRef } from "../host.ts";
import { checkAttachments } from "../load/attachment.ts";
import { casesOf, loadCases, type LoadedCases } from "../load/load-cases.ts";
import { isPacked } from "../load/packed-case.ts";
import { loadError } from "../load/problem.ts";
import { decodeText } from "../load/value-stream.ts";
import { type ContextFile, type IdentitySettings, NO_CONTEXT } from "../run/identity.ts";
import { findAgent, findAppRoot } from "./app-root.ts";
import { withBuiltInAgents } from "./built-in-agent.ts";
import type { EvalDeps, EvalRequest } from "./eval-request.ts";
import { resolveNames } from "./resolve-name.ts";
import { testModule } from "./test-module.ts";

/** The app and the assistant under test. */
export interface EvalTarget {
  readonly app: App;
  readonly root: string;
  readonly agentId: string;
}

/** Cases that can run. */
export interface PreparedCases {
  readonly cases: readonly EvalCase[];
  readonly hooks: ReadonlyMap<string, FunctionRef>;
  /** Directory that `file://` is relative to. */
  readonly baseDir: string;
}

/** An eval that is about to run. */
export interface PreparedEval {
  readonly request: EvalRequest;
  readonly deps: EvalDeps;
  readonly target: EvalTarget;
  readonly host: EvalHost;
  readonly identity: IdentitySettings;
}

const MAX_FILE_BYTES = 1024 * 1024 * 1024;
const MAX_CONTEXT_BYTES = 1024 * 1024;

/** Loads the app and finds the assistant. */
export async function loadTarget({ input, agent, appDir, cwd }: EvalRequest, env: EvalRootEnv): Promise<EvalTarget> {
  const from = input.kind === "file" ? dirname(resolve(cwd, input.path)) : cwd;
  const root = await findAppRoot(appDir ?? env.YAO_ROOT, from);
  const { app, problems } = loadApp(withBuiltInAgents(await readAppDirectory(root, { isForeign: isEvalFile })));
  if (input.kind === "generator" && agent === undefined) {
    throw new MeshError("invalid_argument", "say which assistant the cases are for with -n ID");
  }
  try {
    // Tests name their assistant themselves.
    const named = input.kind === "tests" && agent === undefined ? testModule(input.module, agent, app).agentId : agent;
    return { app, root, agentId: await findAgent(named, from, root, app) };
  } catch (error) {
    // An assistant that is missing because of a mistake in its files is not simply not there.
    const errors = problems.filter(({ severity }) => severity === "error");
    if (errors.length === 0) throw error;
    const told = errors
      .slice(0, 10)
      .map(({ file, line, message }) => `${file}${line > 0 ? `:${line}` : ""}: ${message}`);
    throw new MeshError("invalid_argument", [MeshError.from(error).message, ...told].join("\n"), { cause: error });
  }
}

/** Cases and reports lie among the files of an app, in any size; of MCP servers, JSONL files are part of it. */
function isEvalFile(path: string, bytes: number): boolean {
  if (/(?:^|\/)mcps\//.test(path)) return false;
  return bytes > APP_LIMITS.maxFileBytes || /\.(?:jsonl|ndjson|html?|xml|part)$/i.test(path);
}

/** The variable that names an app's directory. */
export interface EvalRootEnv {
  readonly YAO_ROOT?: string | undefined;
}

/** Reads, checks and chooses the cases; `make` makes those that are not written in a file. */
export async function prepareCases(
  request: EvalRequest,
  { agentId }: EvalTarget,
  host: EvalHost,
  make: () => Promise<readonly Json[]>,
): Promise<PreparedCases> {
  const { input, cwd, before, after, only } = request;
  const baseDir = input.kind === "file" ? dirname(resolve(cwd, input.path)) : cwd;
  const loaded = await loadedCases(request, make);
  const global = [
    ...(before === undefined ? [] : [{ flag: "--before", name: before }]),
    ...(after === undefined ? [] : [{ flag: "--after", name: after }]),
  ];
  const naming = loaded.cases.filter((test) => !isPacked(test));
  const names = await resolveNames(naming, { agentId, global }, host);
  const problems = [...loaded.problems, ...names.problems, ...(await checkAttachments(naming, baseDir))];
  if (problems.length > 0) throw loadError(problems.toSorted((a, b) => a.line - b.line));
  return { cases: chosen(loaded.cases, only), hooks: names.hooks, baseDir };
}

async function loadedCases(
  { input, cwd, simulator }: EvalRequest,
  make: () => Promise<readonly Json[]>,
): Promise<LoadedCases> {
  const defaults = simulator === undefined ? {} : { simulator };
  switch (input.kind) {
    case "file":
      return loadCases(
        decodeText(await bytesOf(resolve(cwd, input.path), MAX_FILE_BYTES), input.path),
        input.path,
        defaults,
      );
    case "cases":
      return loadCases(input.text, input.name, defaults);
    case "generator":
      return casesOf(await make(), `agents:${input.agentId}`, defaults);
    case "script":
      return casesOf(await make(), `scripts:${input.name}`, defaults);
    case "message":
      return casesOf([{ id: "message", input: input.text }], "", defaults);
    case "tests":
      return { cases: [], problems: [] };
  }
}

/** The cases whose id a pattern finds. */
function chosen(cases: readonly EvalCase[], only: string | undefined): readonly EvalCase[] {
  if (only === undefined) return cases;
  const names = chosenNames(
    cases.map(({ id }) => id),
    only,
    "case",
  );
  const wanted = new Set(names);
  return cases.filter(({ id }) => wanted.has(id));
}

/** The names that a pattern finds; none is an error. */
export function chosenNames(names: readonly string[], only: string, what: string): readonly string[] {
  const pattern = compilePattern(only);
  const found = names.filter((name) => pattern.test(name));
  if (found.length > 0) return found;
  throw new MeshError(
    "invalid_argument",
    `--run "${only}" matches no ${what}; there are ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`,
  );
}

/** Reads a context file. */
export async function readContextFile(path: string | undefined, cwd: string): Promise<ContextFile> {
  if (path === undefined) return NO_CONTEXT;
  const text = decodeText(await bytesOf(resolve(cwd, path), MAX_CONTEXT_BYTES), path);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new MeshError("invalid_argument", `${path} is not JSON: ${errorText(error)}`, { cause: error });
  }
  if (!isObject(value))
    throw new MeshError("invalid_argument", `${path} must hold an object {chat_id, authorized, metadata}`);
  const record = (key: string): JsonObject => {
    const field = value[key];
    if (field === undefined || isObject(field)) return field ?? {};
    throw new MeshError("invalid_argument", `${path}: ${key} must be an object`);
  };
  const text_ = (key: string): string | undefined => {
    const field = value[key];
    if (field === undefined || typeof field === "string") return field;
    throw new MeshError("invalid_argument", `${path}: ${key} must be a text`);
  };
  const [chatId, locale, referer] = [text_("chat_id"), text_("locale"), text_("referer")];
  return {
    authorized: record("authorized"),
    metadata: record("metadata"),
    ...(Object.hasOwn(value, "client") ? { client: record("client") } : {}),
    ...(chatId === undefined ? {} : { chatId }),
    ...(locale === undefined ? {} : { locale }),
    ...(referer === undefined ? {} : { referer }),
  };
}

async function bytesOf(path: string, maxBytes: number): Promise<Uint8Array> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new MeshError("not_found", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  });
  if (bytes.length <= maxBytes) return bytes;
  throw new MeshError("resource_exhausted", `${path} has ${bytes.length} bytes; ${maxBytes} are the most`);
}
