/** Workspaces and members: one constant per call of the API. */

import type {
  CreateWorkspaceRequest,
  CreateWorkspaceResponse,
  DeleteWorkspaceRequest,
  DeleteWorkspaceResponse,
  GetWorkspaceRequest,
  GetWorkspaceResponse,
  ListMembersRequest,
  ListMembersResponse,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  PutMemberRequest,
  PutMemberResponse,
  RemoveMemberRequest,
  RemoveMemberResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Create workspace. */
export const createWorkspace = endpoint<CreateWorkspaceRequest, CreateWorkspaceResponse>()("POST", "/v1/workspaces");

/** Lists those the caller belongs to. */
export const listWorkspaces = endpoint<ListWorkspacesRequest, ListWorkspacesResponse>()("GET", "/v1/workspaces");

/** Reads one by id or name. */
export const getWorkspace = endpoint<GetWorkspaceRequest, GetWorkspaceResponse>()("GET", "/v1/workspaces/{workspace}");

/** Deletes an empty workspace, or all it holds with force. */
export const deleteWorkspace = endpoint<DeleteWorkspaceRequest, DeleteWorkspaceResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}",
);

/** Adds a user or changes the role. */
export const putMember = endpoint<PutMemberRequest, PutMemberResponse>()(
  "PUT",
  "/v1/workspaces/{workspace}/members/{user}",
);

/** List members. */
export const listMembers = endpoint<ListMembersRequest, ListMembersResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/members",
);

/** Remove member. */
export const removeMember = endpoint<RemoveMemberRequest, RemoveMemberResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/members/{user}",
);
