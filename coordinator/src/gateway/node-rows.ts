/** Rows of NodeService. */

import {
  CreateJoinTokenRequest,
  DrainNodeRequest,
  GetNodeRequest,
  JoinNodeRequest,
  ListNodesRequest,
  RemoveNodeRequest,
  RenewNodeRequest,
  UndrainNodeRequest,
  UpdateNodeRequest,
} from "@mesh/proto";
import { z } from "zod";

import { labels, optionalInt, optionalText, reference, required, texts } from "./field.ts";
import type { NodeApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const WEEK_SECONDS = 604_800;
const workspaceIds = texts(100, 64);
const nodeName = z
  .string()
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
    "must be 1 to 63 letters, digits, dots, dashes or underscores",
  )
  .optional();
const tools = z
  .record(required(64), z.string().max(1024, "is longer than 1024 characters"))
  .refine((value) => Object.keys(value).length <= 100, "has more than 100 entries");
const facts = z
  .strictObject({
    os: optionalText(64),
    arch: optionalText(64),
    cpus: optionalInt(0, 65_536),
    memory_bytes: optionalInt(0, Number.MAX_SAFE_INTEGER),
    hostname: optionalText(255),
    node_version: optionalText(64),
    tools: tools.optional(),
  })
  .optional();
const byNode = z.strictObject({ node: reference });

/** What NodeService accepts, and where. */
export const NODE_ROWS: { readonly [M in keyof NodeApi]: OperationRow<Parameters<NodeApi[M]>[0]> } = {
  createJoinToken: row(
    "POST /v1/node-tokens",
    {
      scope: "nodes",
      summary: "Makes a short-lived token that lets a device join; the secret is shown once.",
      input: z.strictObject({
        ttl_seconds: optionalInt(0, WEEK_SECONDS).refine(
          (value) => value === undefined || value === 0 || value >= 60,
          "must be 60 to 604800 seconds, or 0 for 15 minutes",
        ),
        uses: optionalInt(0, 1000),
        labels,
        workspace_ids: workspaceIds,
      }),
      message: CreateJoinTokenRequest,
    },
    { successStatus: 201 },
  ),
  joinNode: row(
    "POST /v1/nodes/join",
    {
      scope: "none",
      summary: "Trades a join token and a device key for credentials.",
      input: z.strictObject({
        token: required(512),
        nkey: required(128),
        signature: required(256),
        name: nodeName,
        labels,
        facts,
        slots: optionalInt(0, 1024),
        protocol: optionalInt(0, 1_000_000),
        version: optionalText(64),
      }),
      message: JoinNodeRequest,
    },
    { successStatus: 201 },
  ),
  renewNode: row("POST /v1/nodes/renew", {
    scope: "none",
    summary: "Issues fresh credentials to a node that signs with its key.",
    input: z.strictObject({
      nkey: required(128),
      at_ms: z.int().min(0),
      signature: required(256),
    }),
    message: RenewNodeRequest,
  }),
  listNodes: row("GET /v1/nodes", {
    scope: "read",
    summary: "Lists every node that was not removed.",
    input: z.strictObject({}),
    message: ListNodesRequest,
  }),
  getNode: row("GET /v1/nodes/{node}", {
    scope: "read",
    summary: "Reads one node by id or name.",
    input: byNode,
    message: GetNodeRequest,
  }),
  updateNode: row("PATCH /v1/nodes/{node}", {
    scope: "nodes",
    summary: "Renames a node, changes its labels, slots or workspaces.",
    input: z.strictObject({
      node: reference,
      name: nodeName,
      labels,
      slots: optionalInt(0, 1024),
      workspace_ids: z.strictObject({ ids: workspaceIds }).optional(),
    }),
    message: UpdateNodeRequest,
  }),
  drainNode: row("POST /v1/nodes/{node}/drain", {
    scope: "nodes",
    summary: "Stops new work; running work finishes, or is handed back at the deadline.",
    input: z.strictObject({ node: reference, deadline_seconds: optionalInt(0, WEEK_SECONDS) }),
    message: DrainNodeRequest,
  }),
  undrainNode: row("POST /v1/nodes/{node}/undrain", {
    scope: "nodes",
    summary: "Lets a node take work again.",
    input: byNode,
    message: UndrainNodeRequest,
  }),
  removeNode: row("DELETE /v1/nodes/{node}", {
    scope: "nodes",
    summary: "Revokes a node's credentials at once.",
    input: byNode,
    message: RemoveNodeRequest,
  }),
};
