/** Rows of EvalService. */

import * as proto from "@mesh/proto";
import { z } from "zod";

import type { EvalApi } from "./api/eval.ts";
import { jsonProblem, labels, optionalInt, optionalText, optionalWord, reference, struct, texts } from "./field.ts";
import { type OperationRow, row } from "./operation-row.ts";
import { MAX_BUNDLE_BYTES } from "./workspace-rows.ts";

const MAX_SEQ = 2 ** 31 - 1;
const DAY_MS = 86_400_000;
const MAX_RUNS = 100;
const MAX_CASE_CHARS = 1024 * 1024;
/** Cases of an eval, however many requests they come in. */
const MAX_CASES = 200_000;
/** Requests that carry cases. */
const MAX_CASES_BYTES = 4 * 1024 * 1024;

const aCase = z.record(z.string(), z.unknown(), "must be a case: an object with id and input");
const cases = z
  .array(aCase.superRefine(refuseLarge), "must be a list of cases")
  .max(MAX_CASES, `has more than ${MAX_CASES} cases`)
  .optional();

const placement = z
  .strictObject({
    mode: optionalWord("spread", "each", "mirror", "sticky"),
    copies: optionalInt(0, 16),
    max_nodes: optionalInt(0, 1_000),
    nodes: texts(256, 200),
    labels,
  })
  .optional();

const settings = z
  .strictObject({
    runs: optionalInt(0, MAX_RUNS),
    parallel: optionalInt(0, 64),
    timeout_ms: optionalInt(0, DAY_MS),
    retries: optionalInt(0, 20),
    fail_fast: z.boolean().optional(),
    connector: optionalText(200),
    user: optionalText(200),
    team: optionalText(200),
    locale: optionalText(64),
    simulator: optionalText(200),
    before_all: optionalText(200),
    after_all: optionalText(200),
    context: struct,
    requests_per_minute: optionalInt(0, 1_000_000),
    duplicate_stragglers: z.boolean().optional(),
  })
  .optional();

const byEval = z.strictObject({ eval: reference });

function refuseLarge(value: unknown, context: z.RefinementCtx): void {
  const message = jsonProblem(value, MAX_CASE_CHARS);
  if (message !== undefined) context.addIssue({ code: "custom", message });
}

/** What EvalService accepts, and where. */
export const EVAL_ROWS: { readonly [M in keyof EvalApi]: OperationRow<Parameters<EvalApi[M]>[0]> } = {
  pushEvalBundle: row(
    "POST /v1/workspaces/{workspace}/evals/bundles",
    {
      // As with apps: a bundle is code that devices run.
      scope: "apps",
      summary: "Keeps an app bundle for evals, without making it a version of an app.",
      input: z.strictObject({
        workspace: reference,
        bundle: z
          .instanceof(Buffer, { error: "must be the bytes of a bundle" })
          .refine((bytes) => bytes.length > 0, "is empty: send the bundle as the body")
          .refine((bytes) => bytes.length <= MAX_BUNDLE_BYTES, "is larger than 33 MB"),
      }),
      message: proto.PushEvalBundleRequest,
    },
    { successStatus: 201, rawBody: "bundle" },
  ),
  planEval: row("POST /v1/evals/plan", {
    scope: "read",
    summary: "Says which devices would take part in an eval, and why others would not; nothing is stored.",
    input: z.strictObject({
      workspace: reference,
      placement,
      cases: optionalInt(0, MAX_CASES),
      runs: optionalInt(0, MAX_RUNS),
    }),
    message: proto.PlanEvalRequest,
  }),
  createEval: row(
    "POST /v1/evals",
    {
      scope: "runs",
      summary: "Makes an eval and starts it, unless it is to stay a draft that gets more cases.",
      input: z.strictObject({
        workspace: reference,
        assistant: reference,
        name: optionalText(500),
        bundle_digest: z
          .string()
          .regex(/^(?:[0-9a-f]{64})?$/, "must be the hexadecimal SHA-256 of a bundle")
          .optional(),
        placement,
        settings,
        cases,
        draft: z.boolean().optional(),
        idempotency_key: optionalText(200),
      }),
      message: proto.CreateEvalRequest,
    },
    { successStatus: 201, idempotencyField: "idempotency_key", maxBodyBytes: MAX_CASES_BYTES },
  ),
  addEvalCases: row(
    "POST /v1/evals/{eval}/cases",
    {
      scope: "runs",
      summary: "Adds cases to a draft; sending the same position again is harmless.",
      input: z.strictObject({ eval: reference, at: optionalInt(0, MAX_CASES), cases }),
      message: proto.AddEvalCasesRequest,
    },
    { maxBodyBytes: MAX_CASES_BYTES },
  ),
  startEval: row("POST /v1/evals/{eval}/start", {
    scope: "runs",
    summary: "Starts a draft; idempotent.",
    input: byEval,
    message: proto.StartEvalRequest,
  }),
  listEvals: row("GET /v1/evals", {
    scope: "read",
    summary: "Lists the evals of a workspace, the newest first and without their devices.",
    input: z.strictObject({
      workspace: reference,
      assistant: optionalText(200),
      state: optionalWord("draft", "running", "cancelling", "ended", "cancelled", "failed"),
      page_size: optionalInt(0, 200),
      page_token: optionalText(200),
    }),
    message: proto.ListEvalsRequest,
  }),
  getEval: row("GET /v1/evals/{eval}", {
    scope: "read",
    summary: "Reads one eval with its counts and devices.",
    input: byEval,
    message: proto.GetEvalRequest,
  }),
  cancelEval: row("POST /v1/evals/{eval}/cancel", {
    scope: "runs",
    summary: "Stops an eval: what runs is stopped, what has a result keeps it; idempotent.",
    input: byEval,
    message: proto.CancelEvalRequest,
  }),
  resumeEval: row("POST /v1/evals/{eval}/resume", {
    scope: "runs",
    summary: "Goes on with the units of an eval that have no result.",
    input: z.strictObject({ eval: reference, retry_errors: z.boolean().optional() }),
    message: proto.ResumeEvalRequest,
  }),
  removeEval: row("DELETE /v1/evals/{eval}", {
    scope: "runs",
    summary: "Removes an eval that does not run, with its log.",
    input: byEval,
    message: proto.RemoveEvalRequest,
  }),
  listEvalCases: row("GET /v1/evals/{eval}/cases", {
    scope: "read",
    summary: "Reads a page of the cases as they were written.",
    input: z.strictObject({ eval: reference, at: optionalInt(0, MAX_CASES), page_size: optionalInt(0, 1_000) }),
    message: proto.ListEvalCasesRequest,
  }),
  listEvalResults: row("GET /v1/evals/{eval}/results", {
    scope: "read",
    summary: "Reads a page of the log, oldest first.",
    input: z.strictObject({
      eval: reference,
      after_seq: optionalInt(0, MAX_SEQ),
      page_size: optionalInt(0, 1_000),
      case_id: optionalText(500),
      status: optionalWord("passed", "failed", "error", "timeout", "skipped"),
      node: optionalText(200),
      brief: z.boolean().optional(),
    }),
    message: proto.ListEvalResultsRequest,
  }),
  followEval: row(
    "GET /v1/evals/{eval}/results",
    {
      scope: "read",
      summary: "Streams what happens after a cursor until the eval has ended.",
      input: z.strictObject({
        eval: reference,
        after_seq: optionalInt(0, MAX_SEQ),
        brief: z.boolean().optional(),
      }),
      message: proto.FollowEvalRequest,
    },
    { streaming: true },
  ),
};
