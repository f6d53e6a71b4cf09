/** Rows of what a workspace sets for itself, a part of WorkspaceService. */

import { ListSecretsRequest, PutSecretRequest, RemoveSecretRequest, UpdateWorkspaceRequest } from "@mesh/proto";
import { z } from "zod";

import { optionalInt, optionalText, reference, required, slug, texts } from "./field.ts";
import type { WorkspaceApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

type Methods = "updateWorkspace" | "putSecret" | "listSecrets" | "removeSecret";

/** More runs within a day than this need no limit. */
const MAX_RUNS_PER_DAY = 100_000;
const secretName = z
  .string()
  .regex(
    /^[A-Z_][A-Z0-9_]{0,63}$/,
    "must be 1 to 64 upper-case letters, digits and underscores, not beginning with a digit",
  );

/** What these methods accept, and where. */
export const WORKSPACE_SETTING_ROWS: { readonly [M in Methods]: OperationRow<Parameters<WorkspaceApi[M]>[0]> } = {
  updateWorkspace: row("PATCH /v1/workspaces/{workspace}", {
    scope: "workspaces",
    summary: "Renames a workspace or changes its settings; owners only.",
    input: z.strictObject({
      workspace: reference,
      name: slug.optional(),
      settings: z
        .strictObject({
          default_assistant: optionalText(200),
          node_ids: texts(500, 200),
          member_assistants: texts(500, 200),
          max_active_runs: optionalInt(0, 100_000),
          max_runs_per_day: optionalInt(0, MAX_RUNS_PER_DAY),
          max_storage_mb: optionalInt(0, 1_000_000_000),
        })
        .optional(),
    }),
    message: UpdateWorkspaceRequest,
  }),
  putSecret: row("PUT /v1/workspaces/{workspace}/secrets/{name}", {
    scope: "workspaces",
    summary: "Sets a variable that the workspace's runs get; it is stored encrypted and never returned.",
    input: z.strictObject({ workspace: reference, name: secretName, value: required(8192) }),
    message: PutSecretRequest,
  }),
  listSecrets: row("GET /v1/workspaces/{workspace}/secrets", {
    scope: "read",
    summary: "Lists the names of a workspace's variables.",
    input: z.strictObject({ workspace: reference }),
    message: ListSecretsRequest,
  }),
  removeSecret: row("DELETE /v1/workspaces/{workspace}/secrets/{name}", {
    scope: "workspaces",
    summary: "Removes a variable.",
    input: z.strictObject({ workspace: reference, name: secretName }),
    message: RemoveSecretRequest,
  }),
};
