/**
 * Which model a run talks to: the call's connector, else the assistant's, else the app's default, else the only connector
 * there is, else the built-in `demo`; with its variables replaced.
 *
 * C1  What was named and cannot be used is an error that says what to set; nothing is silently replaced by another model.
 * C2  Messages name variables and ids, never the values of variables.
 */

import { isObject, type JsonObject, MeshError } from "@mesh/kernel";

import type { App, ConnectorFile } from "./app.ts";
import type { Assistant } from "./assistant.ts";
import { ENV_OPTIONS, type EnvLookup, resolveEnv } from "./env-ref.ts";

/** A connector added to the workspace; empty or absent fields are those of the app's file with the same id. */
export interface WorkspaceConnector {
  readonly type?: string;
  readonly model?: string;
  readonly host?: string;
  readonly key?: string;
  readonly options?: JsonObject;
}

/** A connector ready to be called. */
export interface ResolvedConnector {
  readonly id: string;
  readonly type: string;
  readonly model: string;
  readonly host?: string;
  readonly key?: string;
  readonly options: JsonObject;
}

/** Everything the choice depends on. */
export interface ConnectorRequest {
  readonly app: App;
  readonly workspaceConnectors: ReadonlyMap<string, WorkspaceConnector>;
  readonly assistant: Assistant;
  /** The call's own choice: an id or `use::role`. */
  readonly requested?: string;
  readonly env: EnvLookup;
}

/** The built-in connector: deterministic, in process, needs no key. */
export const DEMO_CONNECTOR: ResolvedConnector = { id: "demo", type: "demo", model: "demo", options: {} };

// Bedrock also takes the credentials of its environment.
const KEYLESS_TYPES = ["demo", "bedrock", "aws"];
const ROLE_PREFIX = "use::";
const DEFAULT_ROLE = "default";

/** Chooses and resolves; throws a MeshError that says what to do when that is not possible. */
export function resolveConnector(request: ConnectorRequest): ResolvedConnector {
  const choice = chooseConnector(request);
  const own = request.workspaceConnectors.get(choice.id);
  const file = request.app.connectors.get(choice.id);
  if (own !== undefined || file !== undefined) return completeConnector(choice.id, { own, file }, request.env);
  if (choice.id === DEMO_CONNECTOR.id) return DEMO_CONNECTOR;
  throw notFound(choice, request);
}

/** One connector with its variables replaced, the workspace's fields before those of the app's file. */
export function completeConnector(
  id: string,
  from: { readonly own?: WorkspaceConnector | undefined; readonly file?: ConnectorFile | undefined },
  env: EnvLookup,
): ResolvedConnector {
  return complete(id, merge(from.own, from.file), env);
}

interface Choice {
  readonly id: string;
  /** For messages: where the id was found, without values of variables. */
  readonly from: string;
}

function chooseConnector(request: ConnectorRequest): Choice {
  const { assistant, requested } = request;
  if (requested !== undefined && requested !== "") {
    return byRole(requested, request) ?? { id: requested, from: `connector ${quoted(requested)}` };
  }
  const named = assistant.connector ?? "";
  if (named === "") return byRole(`${ROLE_PREFIX}${DEFAULT_ROLE}`, request) ?? onlyConnector(request);
  const role = byRole(named, request);
  if (role !== undefined) return role;
  return expand(named, `assistant ${assistant.id}`, request.env);
}

/** The connector of `use::role`: the app's setting for the role, then its default, then whatever there is. */
function byRole(name: string, request: ConnectorRequest): Choice | undefined {
  if (!name.startsWith(ROLE_PREFIX)) return undefined;
  const roles = request.app.settings["system"];
  for (const role of [name.slice(ROLE_PREFIX.length), DEFAULT_ROLE]) {
    const value = isObject(roles) && Object.hasOwn(roles, role) ? roles[role] : undefined;
    if (typeof value === "string" && value !== "")
      return expand(value, `system.${role} of agent/agent.yml`, request.env);
  }
  return onlyConnector(request);
}

function onlyConnector({ workspaceConnectors, assistant }: ConnectorRequest): Choice {
  const [id, ...more] = workspaceConnectors.keys();
  if (id === undefined) return { id: DEMO_CONNECTOR.id, from: "the built-in connector" };
  if (more.length === 0) return { id, from: "the workspace's only connector" };
  throw new MeshError(
    "failed_precondition",
    `assistant ${assistant.id} names no connector and the workspace has several (${listOf([id, ...more])}): ` +
      `set "connector" in its package.yao, or system.default in agent/agent.yml`,
  );
}

function expand(value: string, owner: string, env: EnvLookup): Choice {
  const { text, missing } = resolveEnv(value, env);
  const [name] = missing;
  if (name === undefined) {
    const from =
      text === value ? `connector ${quoted(value)} of ${owner}` : `the connector that ${value} names for ${owner}`;
    return { id: text, from };
  }
  throw new MeshError(
    "failed_precondition",
    `${owner} takes its connector from $ENV.${name}, which has no value: set ${name} to the id of a connector, such as openai.gpt-4o`,
  );
}

function merge(own: WorkspaceConnector | undefined, file: ConnectorFile | undefined): WorkspaceConnector {
  const { host, proxy, model, key, ...rest } = file?.options ?? {};
  const pick = (...values: unknown[]): string =>
    values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
  return {
    type: pick(own?.type, file?.type),
    model: pick(own?.model, model),
    host: pick(own?.host, own?.options?.["host"], own?.options?.["proxy"], host, proxy),
    key: pick(own?.key, key),
    options: { ...rest, ...withoutEndpoint(own?.options ?? {}) },
  };
}

function withoutEndpoint(options: JsonObject): JsonObject {
  const names: readonly string[] = ENV_OPTIONS;
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name)));
}

function complete(id: string, merged: WorkspaceConnector, env: EnvLookup): ResolvedConnector {
  const type = merged.type ?? "";
  const model = value(id, "model", merged.model ?? "", env);
  const host = value(id, "host", merged.host ?? "", env);
  const key = value(id, "key", merged.key ?? "", env);
  if (type === "") throw incomplete(id, "type", "--type openai");
  if (model === "") throw incomplete(id, "model", "--model NAME");
  if (key === "" && !KEYLESS_TYPES.includes(type)) {
    const variable = `${(id.split(".", 1)[0] ?? id).toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_API_KEY`;
    throw incomplete(id, "key", `--key-env ${variable}`, "; a server that needs none takes any text");
  }
  return {
    id,
    type,
    model,
    ...(host === "" ? {} : { host }),
    ...(key === "" ? {} : { key }),
    options: merged.options ?? {},
  };
}

const ADD_FLAGS = { model: "--model NAME", host: "--host URL" } as const;

function value(id: string, field: "model" | "host" | "key", text: string, env: EnvLookup): string {
  const { text: resolved, missing } = resolveEnv(text, env);
  const [name] = missing;
  if (name === undefined) return resolved;
  const flag = field === "key" ? `--key-env ${name}` : ADD_FLAGS[field];
  throw new MeshError(
    "failed_precondition",
    `connector ${id} takes its ${field} from $ENV.${name}, which has no value: set ${name}, or run “yao connector add ${id} ${flag}”`,
  );
}

function incomplete(id: string, field: string, flag: string, more = ""): MeshError {
  return new MeshError(
    "failed_precondition",
    `connector ${id} has no ${field}: run “yao connector add ${id} ${flag}”${more}`,
  );
}

function notFound(choice: Choice, { app, workspaceConnectors }: ConnectorRequest): MeshError {
  const known = [...new Set([...workspaceConnectors.keys(), ...app.connectors.keys(), DEMO_CONNECTOR.id])];
  const id = choice.from.includes(choice.id) ? choice.id : "ID";
  return new MeshError(
    "not_found",
    `${choice.from} does not exist; there are ${listOf(known)}: add it with “yao connector add ${id} --type openai --model NAME --key-env NAME_API_KEY”`,
  );
}

function quoted(id: string): string {
  return JSON.stringify(id.length <= 100 ? id : `${id.slice(0, 100)}…`);
}

function listOf(ids: readonly string[]): string {
  const shown = ids.toSorted().slice(0, 8).join(", ");
  return ids.length > 8 ? `${shown} and ${ids.length - 8} more` : shown;
}
