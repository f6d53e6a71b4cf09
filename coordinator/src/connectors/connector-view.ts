/** Stored connectors as the message of the public interface; keys never leave. */

import { DEMO_CONNECTOR, envNamesOfConnector } from "@mesh/assistants";
import type { JsonObject } from "@mesh/kernel";
import type { Connector } from "@mesh/proto";

import type { AppConnectorRow, ConnectorRow } from "./connector-store.ts";

/** The connector that is always there. */
export const BUILTIN: Connector = {
  id: DEMO_CONNECTOR.id,
  type: DEMO_CONNECTOR.type,
  label: "Demo (built in, offline)",
  model: DEMO_CONNECTOR.model,
  host: "",
  source: "builtin",
  has_key: false,
  env: [],
};

/** A connector added to the workspace. */
export function fromWorkspace({ id, config, has_key }: ConnectorRow): Connector {
  const options = { ...config.options, host: config.host, model: config.model } as JsonObject;
  return {
    id,
    type: config.type,
    label: config.label,
    model: config.model,
    host: config.host,
    source: "workspace",
    has_key,
    env: [...envNamesOfConnector({ options })],
  };
}

/** A connector file of an app. */
export function fromApp({ id, config }: AppConnectorRow): Connector {
  const options = config.options as JsonObject;
  const text = (name: string): string => (typeof options[name] === "string" ? options[name] : "");
  const key = text("key");
  return {
    id,
    type: config.type,
    label: config.label,
    model: text("model"),
    host: text("host") === "" ? text("proxy") : text("host"),
    source: "app",
    has_key: key !== "" && !key.includes("$ENV."),
    env: [...envNamesOfConnector({ options })],
  };
}

/** All connectors of a workspace: those added here hide those of apps, and those the built-in one. */
export function mergeConnectors(
  own: readonly ConnectorRow[],
  ofApps: readonly AppConnectorRow[],
): readonly Connector[] {
  const byId = new Map<string, Connector>([[BUILTIN.id, BUILTIN]]);
  for (const row of ofApps) byId.set(row.id, fromApp(row));
  for (const row of own) byId.set(row.id, fromWorkspace(row));
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
