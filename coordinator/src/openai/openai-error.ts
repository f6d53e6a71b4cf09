/**
 * Errors in the envelope of OpenAI's API, with the headers its clients obey. Pure.
 *
 * V1  `error` has all four keys: message, type, param, code.
 * V2  `x-should-retry` says whether the same request may succeed later: clients would else repeat every 409 and 5xx.
 */

import { isObject, MeshError } from "@mesh/kernel";

import { problemHeaders, toProblem } from "../gateway/problem.ts";

/** What differs from the usual answer to the error's code. */
export interface OpenAiErrorInit {
  readonly status?: number;
  readonly code?: string;
  readonly param?: string;
  readonly runId?: string;
  /** What a waiting run asks. */
  readonly pending?: unknown;
  readonly isRetryable?: boolean;
  /** The text is for the caller, whatever its code. */
  readonly isTold?: boolean;
}

/** An error of these routes. */
export class OpenAiError extends MeshError {
  override readonly name = "OpenAiError";
  readonly init: OpenAiErrorInit;

  constructor(error: MeshError, init: OpenAiErrorInit) {
    super(error.code, error.message, {
      ...(error.details === undefined ? {} : { details: error.details }),
      cause: error,
    });
    this.init = init;
  }
}

/** The body of a refusal. */
export interface OpenAiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
    /** The run, where there is one, and what it asks. */
    readonly yao?: { readonly run: string; readonly pending?: unknown };
  };
}

/** A refusal as it is sent. */
export interface OpenAiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: OpenAiErrorBody;
}

const CODES: Readonly<Record<number, string | undefined>> = {
  401: "invalid_api_key",
  429: "rate_limit_exceeded",
};

/** The answer that tells about an error. */
export function toOpenAi(error: MeshError, requestId: string): OpenAiAnswer {
  const init = error instanceof OpenAiError ? error.init : {};
  const problem = toProblem(error, requestId);
  const status = init.status ?? problem.status;
  const retryAfter = error.details?.["retry_after_seconds"];
  const isRetryable = init.isRetryable ?? (problem.status === 429 || problem.status === 503);
  const message = init.isTold === true ? error.message : problem.detail;
  const { runId, pending } = init;
  return {
    status,
    headers: {
      ...problemHeaders(error),
      "x-should-retry": String(isRetryable),
      ...(typeof retryAfter === "number" ? { "retry-after-ms": String(retryAfter * 1000) } : {}),
      ...(runId === undefined ? {} : { "x-yao-run": runId }),
    },
    body: {
      error: {
        message,
        type: typeOf(status),
        param: init.param ?? fieldOf(problem.errors) ?? null,
        code: init.code ?? CODES[status] ?? error.code,
        ...(runId === undefined ? {} : { yao: { run: runId, ...(pending === undefined ? {} : { pending }) } }),
      },
    },
  };
}

function typeOf(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

function fieldOf(errors: unknown): string | undefined {
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  const field = isObject(first) ? first["field"] : undefined;
  return typeof field === "string" && field !== "" ? field : undefined;
}
