/** Rows of AgentService. */

import * as proto from "@mesh/proto";
import { z } from "zod";

import type { AgentsApi } from "./api/agent.ts";
import { optionalInt, optionalText, optionalWord, reference, required } from "./field.ts";
import { type OperationRow, row } from "./operation-row.ts";

const YEAR_SECONDS = 31_536_000;
const agentId = z.union([
  z.literal(""),
  z
    .string()
    .regex(
      /^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/,
      "must be 1 to 48 lower-case letters, digits and dashes, such as weekly-report",
    ),
]);
const code = required(200);
const byAgent = z.strictObject({ workspace: reference, agent: reference });
const byWorkspace = z.strictObject({ workspace: reference });

/** What AgentService accepts, and where. */
export const AGENT_ROWS: { readonly [M in keyof AgentsApi]: OperationRow<Parameters<AgentsApi[M]>[0]> } = {
  previewAgent: row("GET /v1/tasks/{task}/agent", {
    scope: "read",
    summary: "Drafts the task agent that a task would become; nothing is stored.",
    input: z.strictObject({ task: reference }),
    message: proto.PreviewAgentRequest,
  }),
  promoteTask: row(
    "POST /v1/tasks/{task}/promote",
    {
      scope: "tasks",
      summary: "Makes the task agent of a task, or its next version.",
      input: z.strictObject({
        task: reference,
        agent: agentId.optional(),
        name: optionalText(200),
        description: optionalText(2_000),
        instructions: optionalText(200_000),
      }),
      message: proto.PromoteTaskRequest,
    },
    { successStatus: 201 },
  ),
  listAgents: row(
    "GET /v1/workspaces/{workspace}/agents",
    {
      scope: "read",
      summary: "Lists the task agents of a workspace.",
      input: byWorkspace,
      message: proto.ListAgentsRequest,
    },
    { knowsAssistants: true },
  ),
  getAgent: row(
    "GET /v1/workspaces/{workspace}/agents/{agent}",
    {
      scope: "read",
      summary: "Reads a task agent with the files and versions of its package.",
      input: byAgent,
      message: proto.GetAgentRequest,
    },
    { knowsAssistants: true },
  ),
  removeAgent: row("DELETE /v1/workspaces/{workspace}/agents/{agent}", {
    scope: "tasks",
    summary: "Removes a task agent and the links to it; runs that started go on.",
    input: byAgent,
    message: proto.RemoveAgentRequest,
  }),
  createShare: row(
    "POST /v1/workspaces/{workspace}/shares",
    {
      scope: "tasks",
      summary: "Makes a link to a task, to look at, or to a task agent, to look at or to run; the code is shown once.",
      input: z.strictObject({
        workspace: reference,
        task: optionalText(200),
        agent: optionalText(200),
        access: optionalWord("view", "run"),
        ttl_seconds: optionalInt(0, YEAR_SECONDS),
      }),
      message: proto.CreateShareRequest,
    },
    { successStatus: 201 },
  ),
  listShares: row("GET /v1/workspaces/{workspace}/shares", {
    scope: "tasks",
    summary: "Lists the links of a workspace that work.",
    input: byWorkspace,
    message: proto.ListSharesRequest,
  }),
  revokeShare: row("DELETE /v1/workspaces/{workspace}/shares/{share}", {
    scope: "tasks",
    summary: "Ends a link at once.",
    input: z.strictObject({ workspace: reference, share: reference }),
    message: proto.RevokeShareRequest,
  }),
  openShare: row("GET /v1/shares/{code}", {
    scope: "none",
    summary: "Reads what a link shows.",
    input: z.strictObject({ code }),
    message: proto.OpenShareRequest,
  }),
  runShare: row(
    "POST /v1/shares/{code}/runs",
    {
      scope: "none",
      summary: "Starts a run of the shared task agent.",
      input: z.strictObject({ code, input: required(20_000) }),
      message: proto.RunShareRequest,
    },
    { successStatus: 201 },
  ),
  getShareRun: row("GET /v1/shares/{code}/runs/{run}", {
    scope: "none",
    summary: "Reads the state and the answer of a run that was started through the link.",
    input: z.strictObject({ code, run: reference }),
    message: proto.GetShareRunRequest,
  }),
};
