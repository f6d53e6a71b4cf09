/** Model connectors: one constant per call of the API. */

import type {
  ListConnectorsRequest,
  ListConnectorsResponse,
  PutConnectorRequest,
  PutConnectorResponse,
  RemoveConnectorRequest,
  RemoveConnectorResponse,
  TestConnectorRequest,
  TestConnectorResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Creates or replaces a connector. */
export const putConnector = endpoint<PutConnectorRequest, PutConnectorResponse>()(
  "PUT",
  "/v1/workspaces/{workspace}/connectors/{connector}",
);

/** Lists those added here, those of pushed apps and the built-in ones. */
export const listConnectors = endpoint<ListConnectorsRequest, ListConnectorsResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/connectors",
);

/** Remove connector. */
export const removeConnector = endpoint<RemoveConnectorRequest, RemoveConnectorResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/connectors/{connector}",
);

/** Makes one tiny call and says what works, or what failed and how to fix it. */
export const testConnector = endpoint<TestConnectorRequest, TestConnectorResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/connectors/{connector}/test",
);
