/** `Exception(message, code)`: the error a script throws with a code, and the one it gets when an operation fails. */

/** Code of an exception: an HTTP-like number, or the system's own word. */
export type ExceptionCode = number | string;

/** An error with a code. Callable with and without `new`, as scripts do both. */
export interface Exception extends Error {
  readonly code: ExceptionCode;
  readonly data?: unknown;
}

interface ExceptionConstructor {
  new (message?: unknown, code?: unknown, data?: unknown): Exception;
  (message?: unknown, code?: unknown, data?: unknown): Exception;
  readonly prototype: Exception;
}

const DEFAULT_CODE = 500;

function create(message: unknown, code: unknown, data: unknown): Exception {
  const error = new Error(textOf(message)) as Error & {
    code: ExceptionCode;
    data?: unknown;
  };
  Object.setPrototypeOf(error, Exception.prototype);
  error.code = typeof code === "number" || typeof code === "string" ? code : DEFAULT_CODE;
  if (data !== undefined) error.data = data;
  Error.captureStackTrace(error, Exception);
  return error;
}

/** See {@link ExceptionConstructor}. */
export const Exception: ExceptionConstructor = function Exception(message: unknown, code: unknown, data: unknown) {
  return create(message, code, data);
} as unknown as ExceptionConstructor;

Object.setPrototypeOf(Exception.prototype, Error.prototype);
Object.defineProperty(Exception.prototype, "name", { value: "Exception", writable: true, configurable: true });

function textOf(message: unknown): string {
  if (typeof message === "string") return message;
  const text: unknown = JSON.stringify(message);
  return typeof text === "string" ? text : "";
}
