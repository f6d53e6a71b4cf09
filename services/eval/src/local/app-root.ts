/** Finds the app and the assistant an eval is about, from where its input lies. */

import { stat } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";

import type { App } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";

import { nearest } from "../load/field-reader.ts";

const APP_FILES = ["app.yao", "app.json", "app.jsonc"];

/** The directory of the app: the one that is given, else the nearest above `from`. */
export async function findAppRoot(given: string | undefined, from: string): Promise<string> {
  if (given !== undefined) {
    const path = resolve(given);
    if (await isDirectory(path)) return path;
    throw new MeshError(
      "not_found",
      `${path} is not a directory; give the directory of an app, which holds assistants/`,
    );
  }
  let best: string | undefined;
  for (let at = from; ; at = dirname(at)) {
    for (const name of APP_FILES) if (await isThere(join(at, name))) return at;
    // An app without a file of its own is known by its assistants.
    if (best === undefined && (await isDirectory(join(at, "assistants")))) best = at;
    if (dirname(at) === at) break;
  }
  if (best !== undefined) return best;
  throw new MeshError("not_found", `there is no app above ${from}; give its directory with --app DIR`);
}

/** The assistant: the one that is named, else the nearest above `from`. */
export async function findAgent(named: string | undefined, from: string, root: string, app: App): Promise<string> {
  if (named !== undefined) return agentId(named, app);
  for (let at = from; at.startsWith(root) && at !== root; at = dirname(at)) {
    if (!(await isThere(join(at, "package.yao")))) continue;
    const id = relative(join(root, "assistants"), at).split(sep).join(".");
    if (app.assistants.has(id)) return id;
  }
  const [only, ...more] = app.assistants.keys();
  if (only !== undefined && more.length === 0) return only;
  throw new MeshError("invalid_argument", `say which assistant to test with -n ID; ${knownAgents(app)}`);
}

/** An assistant's id as it may be written: `expense`, `assistants.expense`, `agents.expense`, `assistants/expense`. */
export function agentId(named: string, app: Pick<App, "assistants">): string {
  const dotted = named.replaceAll("/", ".").replace(/\.$/, "");
  for (const id of [named, dotted, dotted.replace(/^(?:assistants|agents)\./, "")]) {
    if (app.assistants.has(id)) return id;
  }
  const meant = nearest(dotted, [...app.assistants.keys()]);
  const hint = meant === undefined ? knownAgents(app) : `did you mean "${meant}"?`;
  throw new MeshError("not_found", `there is no assistant "${named}"; ${hint}`);
}

/** The assistants of an app, for messages. */
export function knownAgents({ assistants }: Pick<App, "assistants">): string {
  const ids = [...assistants.keys()];
  if (ids.length === 0) return "the app has none";
  return `the app has ${ids.slice(0, 10).join(", ")}${ids.length > 10 ? ", …" : ""}`;
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
