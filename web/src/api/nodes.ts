/** Devices: one constant per call of the API. */

import type {
  CreateJoinTokenRequest,
  CreateJoinTokenResponse,
  DrainNodeRequest,
  DrainNodeResponse,
  GetNodeRequest,
  GetNodeResponse,
  JoinNodeRequest,
  JoinNodeResponse,
  ListNodesRequest,
  ListNodesResponse,
  RemoveNodeRequest,
  RemoveNodeResponse,
  RenewNodeRequest,
  RenewNodeResponse,
  UndrainNodeRequest,
  UndrainNodeResponse,
  UpdateNodeRequest,
  UpdateNodeResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Makes a short-lived token that lets a device join. */
export const createJoinToken = endpoint<CreateJoinTokenRequest, CreateJoinTokenResponse>()("POST", "/v1/node-tokens");

/** Trades a join token and a device key for credentials; needs no API token. */
export const joinNode = endpoint<JoinNodeRequest, JoinNodeResponse>()("POST", "/v1/nodes/join");

/** Issues fresh credentials to a node that signs with its key; needs no API token. */
export const renewNode = endpoint<RenewNodeRequest, RenewNodeResponse>()("POST", "/v1/nodes/renew");

/** Lists every node that was not removed. */
export const listNodes = endpoint<ListNodesRequest, ListNodesResponse>()("GET", "/v1/nodes");

/** Reads one node by id or name. */
export const getNode = endpoint<GetNodeRequest, GetNodeResponse>()("GET", "/v1/nodes/{node}");

/** Renames a node, changes its labels, slots or workspaces. */
export const updateNode = endpoint<UpdateNodeRequest, UpdateNodeResponse>()("PATCH", "/v1/nodes/{node}");

/** Stops new work; running work finishes, or is handed back at the deadline. */
export const drainNode = endpoint<DrainNodeRequest, DrainNodeResponse>()("POST", "/v1/nodes/{node}/drain");

/** Lets a node take work again. */
export const undrainNode = endpoint<UndrainNodeRequest, UndrainNodeResponse>()("POST", "/v1/nodes/{node}/undrain");

/** Revokes a node's credentials at once. */
export const removeNode = endpoint<RemoveNodeRequest, RemoveNodeResponse>()("DELETE", "/v1/nodes/{node}");
