/**
 * TestConnector: one tiny call from here, with the workspace's key.
 *
 * T1  No variable of this process reaches a connector: whoever may add one could send it anywhere.
 * T2  Whatever is wrong with the connector or its server is an answer, not an error of the call.
 */

import { completeConnector, DEMO_CONNECTOR, envNamesOfConnector, type ResolvedConnector } from "@mesh/assistants";
import { type Clock, type JsonObject, MeshError } from "@mesh/kernel";
import { connectorModel, type ProviderRegistry, testConnector } from "@mesh/llm";
import type { TestConnectorRequest, TestConnectorResponse } from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { SecretBox } from "../auth/secret-box.ts";
import type { Call } from "../gateway/operation.ts";
import { keyContext } from "./connector-key.ts";
import { listAppConnectors, listConnectors, listSealedKeys } from "./connector-store.ts";

/** What the handler uses. */
export interface ConnectorTestDeps {
  readonly store: Store;
  readonly access: Access;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly providers: ProviderRegistry;
}

/** The handler. */
export async function testOne(
  deps: ConnectorTestDeps,
  request: TestConnectorRequest,
  { caller, signal }: Call,
): Promise<TestConnectorResponse> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  const found = await openConnector(deps, workspace.id, request.connector);
  if (found === undefined) {
    throw new MeshError(
      "not_found",
      `connector ${request.connector} was not found in workspace ${workspace.name}; see: yao connector list`,
    );
  }
  try {
    const result = await testConnector(connectorModel(found()), deps, signal);
    const { ok, summary, fix = "", errorClass = "", durationMs } = result;
    return { ok, summary, fix, error_class: errorClass, duration_ms: durationMs };
  } catch (thrown) {
    const { message } = MeshError.from(thrown);
    return { ok: false, summary: message, fix: CONFIG_FIX, error_class: "config", duration_ms: 0 };
  }
}

const CONFIG_FIX = "fix the connector's settings as said";

/** The connector of this id with its key, opened when it is called: what is wrong with it is thrown then. */
export async function openConnector(
  { store, secretBox }: Pick<ConnectorTestDeps, "store" | "secretBox">,
  workspaceId: string,
  id: string,
): Promise<(() => ResolvedConnector) | undefined> {
  const [rows, files, keys] = await Promise.all([
    listConnectors(store.sql, workspaceId),
    listAppConnectors(store.sql, workspaceId),
    listSealedKeys(store.sql, workspaceId, id),
  ]);
  const row = rows.find((each) => each.id === id);
  const file = files.find((each) => each.id === id);
  if (row === undefined && file === undefined) return id === DEMO_CONNECTOR.id ? () => DEMO_CONNECTOR : undefined;
  return () => {
    const [sealed] = keys;
    const key = sealed === undefined ? {} : { key: secretBox.open(sealed.sealed_key, keyContext(workspaceId, id)) };
    const own = row === undefined ? undefined : { ...row.config, options: row.config.options as JsonObject, ...key };
    const ofApp = file === undefined ? undefined : { ...file.config, id, options: file.config.options as JsonObject };
    const names = envNamesOfConnector({ options: { ...ofApp?.options, ...own } });
    if (names.length > 0) {
      throw new MeshError(
        "failed_precondition",
        `connector ${id} reads ${names.map((name) => `$ENV.${name}`).join(", ")} on the device of a run, and cannot be tested from here: ` +
          `store its values with “yao connector add ${id}”, or start a run with it`,
      );
    }
    return completeConnector(id, { own, file: ofApp }, () => undefined);
  };
}
