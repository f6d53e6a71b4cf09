/** ConnectorService, and the keys a run may have. */

import { type Ids, isObject, MeshError } from "@mesh/kernel";
import type { PutConnectorRequest, PutConnectorResponse, RemoveConnectorRequest, SecretsAnswer } from "@mesh/proto";
import { insertAudit } from "@mesh/store";

import { actorOf } from "../auth/caller.ts";
import type { Call, ConnectorApi } from "../gateway/operation.ts";
import { createVariableSource } from "../workspaces/secret-api.ts";
import { keyContext } from "./connector-key.ts";
import {
  type ConnectorConfig,
  countConnectors,
  deleteConnector,
  listAppConnectors,
  listConnectors,
  listSealedKeys,
  putConnector,
} from "./connector-store.ts";
import { type ConnectorTestDeps, testOne } from "./connector-test.ts";
import { BUILTIN, fromWorkspace, mergeConnectors } from "./connector-view.ts";

/** What the handlers use. */
export interface ConnectorApiDeps extends ConnectorTestDeps {
  readonly ids: Ids;
}

/** All connectors of a workspace travel with each run. */
const MAX_CONNECTORS = 100;
const MAX_OPTIONS_BYTES = 16_384;

/** Builds the handlers. */
export function createConnectorApi(deps: ConnectorApiDeps): ConnectorApi {
  const { store, access } = deps;
  return {
    putConnector: (request, call) => put(deps, request, call),
    listConnectors: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "read");
      const [own, ofApps] = await Promise.all([listConnectors(store.sql, id), listAppConnectors(store.sql, id)]);
      return { connectors: mergeConnectors(own, ofApps) };
    },
    removeConnector: (request, call) => remove(deps, request, call),
    testConnector: (request, call) => testOne(deps, request, call),
  };
}

/**
 * The keys of a workspace's connectors for one run, only that of the connector the caller chose when it chose one; and the
 * workspace's variables.
 */
export function createSecretSource(
  deps: Pick<ConnectorApiDeps, "store" | "secretBox">,
): (run: { readonly workspaceId: string; readonly connector: string }) => Promise<SecretsAnswer> {
  const variables = createVariableSource(deps);
  return async ({ workspaceId, connector }) => {
    // `use::role` is resolved on the node: any of the keys may be the one.
    const id = connector.startsWith("use::") ? "" : connector;
    const rows = await listSealedKeys(deps.store.sql, workspaceId, id);
    const opened = rows.map((row) => [row.id, deps.secretBox.open(row.sealed_key, keyContext(workspaceId, row.id))]);
    const env = await variables(workspaceId);
    return { keys: Object.fromEntries(opened) as Record<string, string>, env };
  };
}

async function put(
  deps: ConnectorApiDeps,
  request: PutConnectorRequest,
  { caller }: Call,
): Promise<PutConnectorResponse> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  const config: ConnectorConfig = {
    type: request.type,
    label: request.label,
    model: request.model,
    host: checkedHost(request.host),
    options: readOptions(request.options_json),
  };
  const { key, connector: id } = request;
  const hasKey = await deps.store.sql.begin(async (tx) => {
    const stored = await putConnector(tx, {
      workspaceId: workspace.id,
      id,
      config,
      sealedKey:
        key === undefined ? undefined : key === "" ? null : deps.secretBox.seal(key, keyContext(workspace.id, id)),
    });
    if ((await countConnectors(tx, workspace.id)) > MAX_CONNECTORS) {
      throw new MeshError(
        "resource_exhausted",
        `a workspace holds at most ${MAX_CONNECTORS} connectors; remove some first`,
      );
    }
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "connector.put",
      object: id,
      workspaceId: workspace.id,
      detail: { type: config.type, model: config.model, host: config.host, key_changed: key !== undefined },
    });
    return stored;
  });
  return { connector: fromWorkspace({ id, config, has_key: hasKey }) };
}

async function remove(
  deps: ConnectorApiDeps,
  request: RemoveConnectorRequest,
  { caller }: Call,
): Promise<Record<string, never>> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  await deps.store.sql.begin(async (tx) => {
    if (!(await deleteConnector(tx, workspace.id, request.connector))) {
      const app = (await listAppConnectors(tx, workspace.id)).find(({ id }) => id === request.connector)?.app;
      throw notHere(request.connector, workspace.name, app);
    }
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "connector.remove",
      object: request.connector,
      workspaceId: workspace.id,
    });
  });
  return {};
}

function notHere(id: string, workspace: string, app: string | undefined): MeshError {
  if (app !== undefined) {
    return new MeshError(
      "failed_precondition",
      `connector ${id} is a file of app ${app}: remove it there and push the app again`,
    );
  }
  if (id === BUILTIN.id) return new MeshError("failed_precondition", `connector ${id} is built in and stays`);
  return new MeshError("not_found", `connector ${id} was not found in workspace ${workspace}; see: yao connector list`);
}

function checkedHost(host: string): string {
  if (host === "" || host.startsWith("$ENV.")) return host;
  const url = URL.canParse(host) ? new URL(host) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new MeshError("invalid_argument", "host must be a URL such as https://api.openai.com/v1");
  }
  if (url.username !== "" || url.password !== "") {
    throw new MeshError(
      "invalid_argument",
      "host must hold no user or password; give the secret as the connector's key",
    );
  }
  return host;
}

function readOptions(text: string): Readonly<Record<string, unknown>> {
  if (text === "") return {};
  if (text.length > MAX_OPTIONS_BYTES) {
    throw new MeshError("invalid_argument", `options_json is longer than ${MAX_OPTIONS_BYTES} characters`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new MeshError("invalid_argument", "options_json is not JSON", { cause: thrown });
  }
  if (!isObject(parsed) || text.includes("\\u0000")) {
    throw new MeshError("invalid_argument", "options_json must be the text of a JSON object");
  }
  if (Object.hasOwn(parsed, "key")) {
    throw new MeshError(
      "invalid_argument",
      'options_json must not hold "key": give it as the connector\'s key, which is stored encrypted',
    );
  }
  return parsed;
}
