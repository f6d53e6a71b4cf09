/** Task agents and shared links: one constant per call of the API. */

import type {
  CreateShareRequest,
  CreateShareResponse,
  GetAgentRequest,
  GetAgentResponse,
  GetShareRunRequest,
  GetShareRunResponse,
  ListAgentsRequest,
  ListAgentsResponse,
  ListSharesRequest,
  ListSharesResponse,
  OpenShareRequest,
  OpenShareResponse,
  PreviewAgentRequest,
  PreviewAgentResponse,
  PromoteTaskRequest,
  PromoteTaskResponse,
  RemoveAgentRequest,
  RemoveAgentResponse,
  RevokeShareRequest,
  RevokeShareResponse,
  RunShareRequest,
  RunShareResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Drafts the task agent that a task would become; nothing is stored. */
export const previewAgent = endpoint<PreviewAgentRequest, PreviewAgentResponse>()("GET", "/v1/tasks/{task}/agent");

/** Makes the task agent, or its next version. */
export const promoteTask = endpoint<PromoteTaskRequest, PromoteTaskResponse>()("POST", "/v1/tasks/{task}/promote");

/** Lists the task agents of a workspace. */
export const listAgents = endpoint<ListAgentsRequest, ListAgentsResponse>()("GET", "/v1/workspaces/{workspace}/agents");

/** Reads a task agent with its package's files and versions. */
export const getAgent = endpoint<GetAgentRequest, GetAgentResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/agents/{agent}",
);

/** Remove agent. */
export const removeAgent = endpoint<RemoveAgentRequest, RemoveAgentResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/agents/{agent}",
);

/** Makes a link to a task or a task agent. */
export const createShare = endpoint<CreateShareRequest, CreateShareResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/shares",
);

/** Lists those that work. */
export const listShares = endpoint<ListSharesRequest, ListSharesResponse>()("GET", "/v1/workspaces/{workspace}/shares");

/** Ends a link at once. */
export const revokeShare = endpoint<RevokeShareRequest, RevokeShareResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/shares/{share}",
);

/** Reads what a link shows; needs no session. */
export const openShare = endpoint<OpenShareRequest, OpenShareResponse>()("GET", "/v1/shares/{code}");

/** Starts a run of a shared agent; needs no session, but a link that allows it. */
export const runShare = endpoint<RunShareRequest, RunShareResponse>()("POST", "/v1/shares/{code}/runs");

/** Reads a run that was started through the link, with its messages; needs no session. */
export const getShareRun = endpoint<GetShareRunRequest, GetShareRunResponse>()("GET", "/v1/shares/{code}/runs/{run}");
