/** Turns what a coordinator or the network answered into one error that tells the user what to do. Pure. */

import { type ErrorCode, isObject, MeshError, toErrorCode } from "@mesh/kernel";

/** The answer to a failed call, before it is understood. */
export interface FailedAnswer {
  readonly status: number;
  readonly body: string;
  /** Address of the coordinator, for advice. */
  readonly url: string;
  readonly hasToken: boolean;
}

/** The error for an HTTP answer that is not a success. */
export function errorOfAnswer(answer: FailedAnswer): MeshError {
  const problem = parseProblem(answer.body);
  const code = problem.code ?? codeOfStatus(answer.status);
  if (code === "unauthenticated") return new MeshError(code, signInText(answer, problem.detail));
  const details: Record<string, unknown> = { ...problem.details, status: answer.status };
  if (problem.requestId !== undefined) details["request_id"] = problem.requestId;
  return new MeshError(code, messageOf(answer, problem, code), { details });
}

/** The error for a call that got no answer. */
export function errorOfNetwork(thrown: unknown, url: string): MeshError {
  if (thrown instanceof MeshError) return thrown;
  const code = errnoOf(thrown);
  switch (code) {
    case "ECONNREFUSED":
      return new MeshError(
        "unavailable",
        `no coordinator at ${url} — start one with \`yao up\`, or log in with \`yao login URL --token T\``,
        { cause: thrown, details: { errno: code } },
      );
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new MeshError("unavailable", `the host of ${url} was not found — check the address and the network`, {
        cause: thrown,
      });
    case undefined:
      if (isRefusedPort(thrown)) {
        return new MeshError(
          "invalid_argument",
          `web clients refuse to use port ${new URL(url).port} — choose another with --port`,
          { cause: thrown },
        );
      }
      return MeshError.from(thrown).code === "cancelled"
        ? MeshError.from(thrown)
        : new MeshError("unavailable", `the coordinator at ${url} gave no answer — try again, or run \`yao doctor\``, {
            cause: thrown,
          });
    default:
      return new MeshError(
        "unavailable",
        `the connection to ${url} failed (${code}) — try again, or run \`yao doctor\``,
        { cause: thrown },
      );
  }
}

interface ParsedProblem {
  readonly code: ErrorCode | undefined;
  readonly detail: string | undefined;
  readonly requestId: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

function parseProblem(body: string): ParsedProblem {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    parsed = undefined;
  }
  if (!isObject(parsed)) return { code: undefined, detail: undefined, requestId: undefined, details: {} };
  const nested = isObject(parsed["details"]) ? parsed["details"] : {};
  const problems = parsed["problems"] ?? nested["problems"];
  return {
    code: typeof parsed["code"] === "string" ? toErrorCode(parsed["code"]) : undefined,
    detail: stringOf(parsed["detail"]) ?? stringOf(parsed["title"]),
    requestId: stringOf(parsed["request_id"]),
    details: { ...nested, ...(problems === undefined ? {} : { problems }) },
  };
}

function messageOf(answer: FailedAnswer, problem: ParsedProblem, code: ErrorCode): string {
  if (problem.detail === undefined) {
    return `${answer.url} answered with HTTP ${answer.status} — check that this is the address of a coordinator`;
  }
  const request = problem.requestId === undefined ? "" : ` (request ${problem.requestId})`;
  return code === "internal" || code === "unknown"
    ? `${problem.detail}${request} — see the coordinator's log`
    : problem.detail;
}

function signInText(answer: FailedAnswer, detail: string | undefined): string {
  return answer.hasToken
    ? `${detail ?? "the token was refused"} — log in again with \`yao login ${answer.url} --token T\``
    : `not logged in at ${answer.url} — log in with \`yao login ${answer.url} --token T\``;
}

function codeOfStatus(status: number): ErrorCode {
  switch (status) {
    case 400:
      return "invalid_argument";
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 409:
      return "already_exists";
    case 412:
      return "failed_precondition";
    case 413:
    case 429:
      return "resource_exhausted";
    case 502:
    case 503:
      return "unavailable";
    case 504:
      return "deadline_exceeded";
    default:
      return status >= 500 ? "internal" : "unknown";
  }
}

// fetch, as browsers do, refuses the ports of some old protocols, such as 6000.
function isRefusedPort(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.cause instanceof Error && thrown.cause.message === "bad port";
}

// fetch hides the errno in `cause`, and behind an AggregateError when a name has several addresses.
function errnoOf(thrown: unknown): string | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; depth += 1) {
    if ("code" in error && typeof error.code === "string") return error.code;
    error = error instanceof AggregateError ? error.errors[0] : error.cause;
  }
  return undefined;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
