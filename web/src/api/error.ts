/** What went wrong with a call, in one form whichever layer refused it. */

/** A finding about one field of a request. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** The error of every failed call; `status` 0 means that no answer came. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** A canonical code, such as not_found, aborted or unavailable. */
  readonly code: string;
  readonly requestId: string;
  readonly fields: readonly FieldProblem[];
  /** Other facts for programs; of a refused write the version that is there. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(init: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly requestId?: string;
    readonly fields?: readonly FieldProblem[];
    readonly details?: Readonly<Record<string, unknown>>;
  }) {
    super(init.message);
    this.status = init.status;
    this.code = init.code;
    this.requestId = init.requestId ?? "";
    this.fields = init.fields ?? [];
    this.details = init.details ?? {};
  }

  /** Whether the same call may work a moment later. */
  get isRetryable(): boolean {
    return this.status === 0 || this.status === 503 || this.status === 504 || this.status === 429;
  }

  /** Anything thrown as an ApiError. */
  static from(thrown: unknown): ApiError {
    if (thrown instanceof ApiError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new ApiError({ status: 0, code: "unknown", message });
  }
}

/** Reads an answer that is not a success; a proxy's page counts too. */
export async function readProblem(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? "";
  const body: unknown = await response.json().catch(() => undefined);
  if (!isRecord(body)) {
    const message = `the server answered ${response.status} ${response.statusText}`.trim();
    return new ApiError({ status: response.status, code: codeOf(response.status), message, requestId });
  }
  return new ApiError({
    status: response.status,
    code: textOf(body["code"]) ?? codeOf(response.status),
    message: textOf(body["detail"]) ?? textOf(body["title"]) ?? `status ${response.status}`,
    requestId: textOf(body["request_id"]) ?? requestId,
    fields: Array.isArray(body["errors"]) ? body["errors"].flatMap(fieldOf) : [],
    details: isRecord(body["details"]) ? body["details"] : {},
  });
}

function fieldOf(value: unknown): FieldProblem[] {
  if (!isRecord(value)) return [];
  return [{ field: textOf(value["field"]) ?? "", message: textOf(value["message"]) ?? "" }];
}

function codeOf(status: number): string {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "permission_denied";
  if (status === 404) return "not_found";
  return status >= 500 ? "unavailable" : "unknown";
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Whether a value from outside is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
