/**
 * The operation table: every rpc once, for both transports and for the OpenAPI document.
 *
 * O1  The type of the table names every handler of `Api`, and no other.
 * O2  A request reaches its handler only through `validate`, whatever carried it.
 */

import { MeshError } from "@mesh/kernel";
import type { z } from "zod";

import { ACCOUNT_ROWS } from "./account-rows.ts";
import { AGENT_ROWS } from "./agent-rows.ts";
import { BOARD_ROWS, INBOX_ROWS } from "./board-rows.ts";
import { EVAL_ROWS } from "./eval-rows.ts";
import { FEED_ROWS } from "./feed-rows.ts";
import { DOCUMENT_ROWS, FILE_ROWS } from "./file-rows.ts";
import { CHAT_ROWS } from "./chat-rows.ts";
import { NODE_ROWS } from "./node-rows.ts";
import type { Api, Call } from "./operation.ts";
import type { OperationRow } from "./operation-row.ts";
import { RUN_ROWS } from "./run-rows.ts";
import { SYSTEM_ROWS, TOKEN_ROWS } from "./system-rows.ts";
import { TASK_ROWS } from "./task-rows.ts";
import { WEBHOOK_ROWS } from "./webhook-rows.ts";
import { APP_ROWS, CONNECTOR_ROWS, WORKSPACE_ROWS } from "./workspace-rows.ts";

/** A row with its place in the table. */
export interface Operation extends OperationRow<unknown> {
  readonly service: keyof Api;
  /** Name of the handler, such as `createRun`. */
  readonly method: string;
}

const TABLE: { readonly [S in keyof Api]: { readonly [M in keyof Api[S]]: OperationRow<unknown> } } = {
  nodes: NODE_ROWS,
  runs: RUN_ROWS,
  workspaces: WORKSPACE_ROWS,
  apps: APP_ROWS,
  connectors: CONNECTOR_ROWS,
  tokens: TOKEN_ROWS,
  system: SYSTEM_ROWS,
  accounts: ACCOUNT_ROWS,
  agents: AGENT_ROWS,
  feed: FEED_ROWS,
  files: FILE_ROWS,
  documents: DOCUMENT_ROWS,
  boards: BOARD_ROWS,
  tasks: TASK_ROWS,
  inbox: INBOX_ROWS,
  chats: CHAT_ROWS,
  webhooks: WEBHOOK_ROWS,
  evals: EVAL_ROWS,
};

/** All operations. */
export const OPERATIONS: readonly Operation[] = Object.entries(TABLE).flatMap(([service, rows]) =>
  Object.entries(rows).map(([method, row]: [string, OperationRow<unknown>]): Operation => ({
    ...row,
    service: service as keyof Api,
    method,
  })),
);

/** The operation of a handler. */
export function operationOf(service: keyof Api, method: string): Operation {
  const found = OPERATIONS.find((operation) => operation.service === service && operation.method === method);
  if (found === undefined) throw new MeshError("internal", `no operation ${service}.${method}`);
  return found;
}

/** One finding about a request. */
export interface FieldError {
  /** Path with dots; empty for the request as a whole. */
  readonly field: string;
  readonly message: string;
}

/** The whole request message, or `invalid_argument` with every finding in `details.errors`. */
export function validate(operation: Operation, input: unknown): unknown {
  const parsed = operation.input.safeParse(input, { reportInput: true });
  if (parsed.success) return operation.complete(parsed.data as never);
  throw invalidFields(parsed.error.issues.flatMap(fieldErrors));
}

/** The error that reports these findings. */
export function invalidFields(errors: readonly FieldError[]): MeshError {
  const shown = errors.slice(0, 20);
  const texts = shown.map(({ field, message }) => (field === "" ? message : `${field} ${message}`));
  return new MeshError("invalid_argument", texts.join("; "), { details: { errors: shown } });
}

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const field = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      field: field === "" ? key : `${field}.${key}`,
      message: "is not a known field",
    }));
  }
  if (issue.code === "invalid_key") return [{ field, message: issue.issues[0]?.message ?? "is not a valid name" }];
  if (issue.code === "invalid_type" && issue.input === undefined) return [{ field, message: "is required" }];
  // zod's own text; the schemas' texts say more.
  if (issue.code === "invalid_type" && issue.message.startsWith("Invalid input")) {
    return [{ field, message: `must be of type ${issue.expected}` }];
  }
  return [{ field, message: issue.message }];
}

type Handler = (request: unknown, call: Call) => unknown;

/** Calls the handler of a unary operation with a validated request. */
export async function handle(api: Api, operation: Operation, request: unknown, call: Call): Promise<unknown> {
  const service = api[operation.service] as unknown as Readonly<Record<string, Handler>>;
  return service[operation.method]?.(request, call);
}

/** Opens the stream of a streaming operation with a validated request. */
export function openStream(api: Api, operation: Operation, request: unknown, call: Call): AsyncIterable<unknown> {
  const service = api[operation.service] as unknown as Readonly<Record<string, Handler>>;
  const stream = service[operation.method]?.(request, call);
  if (isAsyncIterable(stream)) return stream;
  throw new MeshError("internal", `${operation.method} gave no stream`);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
