/** Rows of the services of a workspace: WorkspaceService, AppService, ConnectorService. */

import {
  CreateWorkspaceRequest,
  DeleteWorkspaceRequest,
  GetAppRequest,
  GetAssistantRequest,
  GetWorkspaceRequest,
  ListAppsRequest,
  ListAssistantsRequest,
  ListConnectorsRequest,
  ListMembersRequest,
  ListWorkspacesRequest,
  PushAppRequest,
  PutConnectorRequest,
  PutMemberRequest,
  RemoveAppRequest,
  RemoveConnectorRequest,
  TestConnectorRequest,
  RemoveMemberRequest,
} from "@mesh/proto";
import { z } from "zod";

import { optionalText, reference, required, slug } from "./field.ts";
import type { AppApi, ConnectorApi, WorkspaceApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";
import { WORKSPACE_SETTING_ROWS } from "./workspace-setting-rows.ts";

/** The largest app bundle. */
export const MAX_BUNDLE_BYTES: number = 33 * 1024 * 1024;

/** Dotted, as assistants and connectors are named after their path. */
const dottedId = z
  .string()
  .max(200, "is longer than 200 characters")
  .regex(
    /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/,
    "must be words of letters, digits, dashes and underscores, joined by dots",
  );
const userName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,62}$/, "must be 1 to 63 letters, digits, dots, dashes, underscores or @");
const byWorkspace = z.strictObject({ workspace: reference });
const byApp = z.strictObject({ workspace: reference, app: reference });

/** What WorkspaceService accepts, and where. */
export const WORKSPACE_ROWS: { readonly [M in keyof WorkspaceApi]: OperationRow<Parameters<WorkspaceApi[M]>[0]> } = {
  createWorkspace: row(
    "POST /v1/workspaces",
    {
      scope: "workspaces",
      summary: "Creates a workspace; the caller becomes its owner.",
      input: z.strictObject({ name: slug }),
      message: CreateWorkspaceRequest,
    },
    { successStatus: 201 },
  ),
  listWorkspaces: row(
    "GET /v1/workspaces",
    {
      scope: "read",
      summary: "Lists the workspaces the caller belongs to.",
      input: z.strictObject({}),
      message: ListWorkspacesRequest,
    },
    { knowsAssistants: true },
  ),
  getWorkspace: row(
    "GET /v1/workspaces/{workspace}",
    {
      scope: "read",
      summary: "Reads one workspace by id or name.",
      input: byWorkspace,
      message: GetWorkspaceRequest,
    },
    { knowsAssistants: true },
  ),
  deleteWorkspace: row("DELETE /v1/workspaces/{workspace}", {
    scope: "workspaces",
    summary: "Deletes an empty workspace, or all it holds with force.",
    input: z.strictObject({ workspace: reference, force: z.boolean().optional() }),
    message: DeleteWorkspaceRequest,
  }),
  putMember: row("PUT /v1/workspaces/{workspace}/members/{user}", {
    scope: "workspaces",
    summary: "Adds a user or changes the role.",
    input: z.strictObject({
      workspace: reference,
      user: userName,
      role: z.enum(["owner", "member", "viewer"], "must be one of: owner, member, viewer"),
    }),
    message: PutMemberRequest,
  }),
  listMembers: row("GET /v1/workspaces/{workspace}/members", {
    scope: "read",
    summary: "Lists the members of a workspace.",
    input: byWorkspace,
    message: ListMembersRequest,
  }),
  removeMember: row("DELETE /v1/workspaces/{workspace}/members/{user}", {
    scope: "workspaces",
    summary: "Removes a member.",
    input: z.strictObject({ workspace: reference, user: userName }),
    message: RemoveMemberRequest,
  }),
  ...WORKSPACE_SETTING_ROWS,
};

/** What AppService accepts, and where. */
export const APP_ROWS: { readonly [M in keyof AppApi]: OperationRow<Parameters<AppApi[M]>[0]> } = {
  pushApp: row(
    "POST /v1/workspaces/{workspace}/apps/{app}/versions",
    {
      scope: "apps",
      summary: "Validates a bundle and makes it the newest version of an app.",
      input: z.strictObject({
        workspace: reference,
        app: slug,
        bundle: z
          .instanceof(Buffer, { error: "must be the bytes of a bundle" })
          .refine((bytes) => bytes.length > 0, "is empty: send the bundle as the body")
          .refine((bytes) => bytes.length <= MAX_BUNDLE_BYTES, "is larger than 33 MB"),
        reset_models: z.boolean("must be true or false").optional(),
      }),
      message: PushAppRequest,
    },
    { successStatus: 201, rawBody: "bundle" },
  ),
  listApps: row("GET /v1/workspaces/{workspace}/apps", {
    scope: "read",
    summary: "Lists the apps of a workspace.",
    input: byWorkspace,
    message: ListAppsRequest,
  }),
  getApp: row("GET /v1/workspaces/{workspace}/apps/{app}", {
    scope: "read",
    summary: "Reads one app with its versions.",
    input: byApp,
    message: GetAppRequest,
  }),
  removeApp: row("DELETE /v1/workspaces/{workspace}/apps/{app}", {
    scope: "apps",
    summary: "Removes an app; runs that started keep their bundle.",
    input: byApp,
    message: RemoveAppRequest,
  }),
  listAssistants: row(
    "GET /v1/workspaces/{workspace}/assistants",
    {
      scope: "read",
      summary: "Lists the assistants of all apps of a workspace.",
      input: byWorkspace,
      message: ListAssistantsRequest,
    },
    { knowsAssistants: true },
  ),
  getAssistant: row(
    "GET /v1/workspaces/{workspace}/assistants/{assistant}",
    {
      scope: "read",
      summary: "Reads one assistant.",
      input: z.strictObject({ workspace: reference, assistant: reference }),
      message: GetAssistantRequest,
    },
    { knowsAssistants: true },
  ),
};

/** What ConnectorService accepts, and where. */
export const CONNECTOR_ROWS: { readonly [M in keyof ConnectorApi]: OperationRow<Parameters<ConnectorApi[M]>[0]> } = {
  putConnector: row("PUT /v1/workspaces/{workspace}/connectors/{connector}", {
    scope: "connectors",
    summary: "Creates or replaces a connector; the key is stored encrypted and never returned.",
    input: z.strictObject({
      workspace: reference,
      connector: dottedId,
      type: required(64),
      label: optionalText(200),
      model: optionalText(200),
      host: optionalText(2048),
      key: optionalText(8192),
      options_json: optionalText(65_536),
    }),
    message: PutConnectorRequest,
  }),
  listConnectors: row("GET /v1/workspaces/{workspace}/connectors", {
    scope: "read",
    summary: "Lists the connectors added here, those of pushed apps and the built-in ones.",
    input: byWorkspace,
    message: ListConnectorsRequest,
  }),
  removeConnector: row("DELETE /v1/workspaces/{workspace}/connectors/{connector}", {
    scope: "connectors",
    summary: "Removes a connector that was added here.",
    input: z.strictObject({ workspace: reference, connector: dottedId }),
    message: RemoveConnectorRequest,
  }),
  testConnector: row("POST /v1/workspaces/{workspace}/connectors/{connector}/test", {
    scope: "connectors",
    summary: "Makes one tiny call through a connector and says what works, or what failed and how to fix it.",
    input: z.strictObject({ workspace: reference, connector: dottedId }),
    message: TestConnectorRequest,
  }),
};
