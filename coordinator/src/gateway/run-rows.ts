/** Rows of RunService. */

import {
  AnswerRunRequest,
  CancelRunRequest,
  CreateRunRequest,
  FollowRunRequest,
  GetRunRequest,
  ListRunEventsRequest,
  ListRunsRequest,
  RetryRunRequest,
} from "@mesh/proto";
import { isObject } from "@mesh/kernel";
import { z } from "zod";

import {
  jsonProblem,
  labels,
  optionalInt,
  optionalText,
  optionalWord,
  reference,
  required,
  struct,
  structUpTo,
  texts,
} from "./field.ts";
import type { RunApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const WEEK_SECONDS = 604_800;
const MAX_SEQ = 2 ** 31 - 1;
/** Input, options and metadata of a run travel in one NATS message of 1 MB. */
const MAX_INPUT_CHARS = 262_144;

/** The functions of a caller are among them. */
const MAX_OPTIONS_CHARS = 256 * 1024;
const MAX_MESSAGES_CHARS = 768 * 1024;
/** As much as a run's state service takes. */
const MAX_CHAT_ID_CHARS = 200;

const MAX_CALL_ID_CHARS = 1024;
const MAX_ANSWER_CHARS = 32_768;

const messagesJson = z
  .string()
  .max(MAX_MESSAGES_CHARS, `is longer than ${MAX_MESSAGES_CHARS} characters`)
  .superRefine((text, context) => {
    const message = text === "" ? undefined : messagesProblem(text);
    if (message !== undefined) context.addIssue({ code: "custom", message });
  })
  .optional();

function messagesProblem(text: string): string | undefined {
  try {
    const messages: unknown = JSON.parse(text);
    if (Array.isArray(messages) && messages.every(isObject)) return jsonProblem(messages, MAX_MESSAGES_CHARS);
  } catch {
    // Said below.
  }
  return "must be the JSON text of a list of messages {role, content}";
}

const requirements = z
  .strictObject({
    node: optionalText(200),
    labels,
    os: optionalText(64),
    arch: optionalText(64),
    tools: texts(32, 64),
  })
  .optional();
/** The handlers hold a token to its assistants. */
const KNOWS = { knowsAssistants: true } as const;
const byRun = z.strictObject({ run: reference });

/** What RunService accepts, and where. */
export const RUN_ROWS: { readonly [M in keyof RunApi]: OperationRow<Parameters<RunApi[M]>[0]> } = {
  createRun: row(
    "POST /v1/workspaces/{workspace}/runs",
    {
      scope: "runs",
      summary: "Queues a run and tries to place it at once.",
      input: z.strictObject({
        workspace: reference,
        assistant: optionalText(200),
        input: optionalText(MAX_INPUT_CHARS),
        requirements,
        options: structUpTo(MAX_OPTIONS_CHARS),
        timeout_seconds: optionalInt(0, WEEK_SECONDS),
        on_lost: optionalWord("hold", "replace", "fail"),
        priority: optionalInt(-100, 100),
        metadata: struct,
        idempotency_key: optionalText(200),
        queue_ttl_seconds: optionalInt(0, WEEK_SECONDS),
        messages_json: messagesJson,
        chat: optionalText(MAX_CHAT_ID_CHARS),
      }),
      message: CreateRunRequest,
    },
    { successStatus: 201, idempotencyField: "idempotency_key", localeField: "metadata", knowsAssistants: true },
  ),
  listRuns: row(
    "GET /v1/workspaces/{workspace}/runs",
    {
      scope: "read",
      summary: "Lists the newest runs first.",
      input: z.strictObject({
        workspace: reference,
        state: optionalWord(
          "queued",
          "placed",
          "accepted",
          "running",
          "waiting",
          "succeeded",
          "failed",
          "cancelled",
          "lost",
        ),
        node: optionalText(200),
        limit: optionalInt(0, 200),
        cursor: optionalText(200),
      }),
      message: ListRunsRequest,
    },
    KNOWS,
  ),
  getRun: row(
    "GET /v1/runs/{run}",
    {
      scope: "read",
      summary: "Reads one run with its placement explanation.",
      input: byRun,
      message: GetRunRequest,
    },
    KNOWS,
  ),
  cancelRun: row(
    "POST /v1/runs/{run}/cancel",
    {
      scope: "runs",
      summary: "Asks a run to stop; idempotent.",
      input: byRun,
      message: CancelRunRequest,
    },
    KNOWS,
  ),
  answerRun: row(
    "POST /v1/runs/{run}/answer",
    {
      scope: "runs",
      summary:
        "Answers one thing that a waiting run asks; the run goes on when nothing is open any more. Repeating is harmless, another answer is refused.",
      input: z.strictObject({
        run: reference,
        call_id: required(MAX_CALL_ID_CHARS),
        decision: z.enum(["approve", "deny", "edit", "answer"], "must be one of: approve, deny, edit, answer"),
        arguments: struct,
        text: optionalText(MAX_ANSWER_CHARS),
      }),
      message: AnswerRunRequest,
    },
    KNOWS,
  ),
  retryRun: row(
    "POST /v1/runs/{run}/retry",
    {
      scope: "runs",
      summary: "Starts a new run with the same input.",
      input: byRun,
      message: RetryRunRequest,
    },
    { successStatus: 201, ...KNOWS },
  ),
  listRunEvents: row(
    "GET /v1/runs/{run}/events",
    {
      scope: "read",
      summary: "Reads a page of events.",
      input: z.strictObject({ run: reference, after_seq: optionalInt(0, MAX_SEQ), limit: optionalInt(0, 1000) }),
      message: ListRunEventsRequest,
    },
    KNOWS,
  ),
  followRun: row(
    "GET /v1/runs/{run}/events",
    {
      scope: "read",
      summary: "Streams events after a cursor until the run has ended.",
      input: z.strictObject({ run: reference, after_seq: optionalInt(0, MAX_SEQ) }),
      message: FollowRunRequest,
    },
    { streaming: true, ...KNOWS },
  ),
};
