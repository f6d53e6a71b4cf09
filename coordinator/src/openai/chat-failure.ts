/** Why a run gave no answer, as an error that its caller can act on. Pure. */

import { isObject, MeshError, toErrorCode } from "@mesh/kernel";

import { OpenAiError } from "./openai-error.ts";

/** How a run ended without an answer. */
export type ChatFailure =
  | {
      readonly kind: "ended";
      readonly runId: string;
      readonly state: string;
      readonly code: string;
      readonly message: string;
    }
  /** It waits for a person. */
  | { readonly kind: "asks"; readonly runId: string; readonly pending: unknown };

/** How long a run waits for a device: somebody sits at the other end. */
export const QUEUE_SECONDS = 30;

// What the caller can change about its request.
const CALLERS = new Set(["invalid_argument", "out_of_range", "failed_precondition", "not_found", "unimplemented"]);
// Another try is a new run, which may go better; the run itself has tried the model again already.
const FLEETING = new Set(["queue_expired", "node_restarted", "node_stopped", "runner_crashed", "handed_back", "lost"]);

/** The error to answer with. */
export function failureOf(failure: ChatFailure): OpenAiError {
  const { runId } = failure;
  if (failure.kind === "asks") return asks(runId, failure.pending);
  const { state, code, message } = failure;
  const more = `see: yao runs show ${runId}`;
  if (state === "cancelled") {
    const error = new MeshError("cancelled", `run ${runId} was cancelled; ${more}`);
    return new OpenAiError(error, { status: 409, code: "run_cancelled", runId });
  }
  if (code === "queue_expired") {
    const text = `no device took the run within ${QUEUE_SECONDS} s: ${message}; look at the devices with: yao node list`;
    return new OpenAiError(new MeshError("unavailable", text), {
      status: 503,
      code: "no_device",
      runId,
      isRetryable: true,
    });
  }
  const known = toErrorCode(code) ?? "unknown";
  const text = message === "" ? `the run ended as ${state}` : message;
  return new OpenAiError(new MeshError(known, `${text} (${more})`), {
    status: statusOf(code),
    code: code === "" ? state : code,
    runId,
    isRetryable: FLEETING.has(code) || state === "lost",
    // The text of a run's error is made for its users.
    isTold: true,
  });
}

// A provider that refuses the assistant's own key must not look like a refusal of the caller's token.
function statusOf(code: string): number {
  if (code === "resource_exhausted") return 429;
  if (code === "deadline_exceeded" || code === "timeout") return 504;
  if (code === "unavailable") return 503;
  if (code === "unauthenticated" || code === "permission_denied") return 502;
  return CALLERS.has(code) ? 400 : 500;
}

function asks(runId: string, pending: unknown): OpenAiError {
  const items = Array.isArray(pending) ? (pending as readonly unknown[]).filter(isObject) : [];
  const words = items.map((item) => textOf(item["text"]) || `may it use ${textOf(item["tool"])}?`).join(" ");
  const text = `run ${runId} waits for a person: ${words.slice(0, 2000)} It goes on once that is answered, with POST /v1/runs/${runId}/answer or: yao runs answer ${runId}; read the answer with GET /v1/runs/${runId}`;
  return new OpenAiError(new MeshError("failed_precondition", text), {
    status: 409,
    code: "needs_input",
    runId,
    pending,
  });
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
