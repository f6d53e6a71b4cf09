/**
 * What can go wrong with a model call, and what may be done about it.
 *
 * F1  Every failure has one class; the class alone decides whether a repeat can help.
 * F2  Text of a provider is cut to 500 characters, on one line, and never holds a secret that we sent.
 */

import { type ErrorCode, MeshError } from "@mesh/kernel";

import type { AssistantMessage } from "./message.ts";

/** Classes of failure; append-only. */
export type ErrorClass =
  /** Too many requests or no capacity right now. */
  | "rateLimit"
  /** No connection, or a connection that broke before the answer was complete. */
  | "network"
  /** One of our time-outs. */
  | "timeout"
  /** The key is missing, wrong or not allowed to do this. */
  | "auth"
  /** No credit or quota left. */
  | "quota"
  /** The model or the address does not exist. */
  | "notFound"
  /** The prompt does not fit the model. */
  | "overflow"
  /** The provider found fault with the request. */
  | "invalidRequest"
  /** The provider failed. */
  | "server"
  /** The provider answered something that is not its protocol. */
  | "protocol"
  /** The model would not answer. */
  | "refusal"
  /** The caller gave up. */
  | "aborted"
  /** The request could not even be built. */
  | "config";

const CODES: Readonly<Record<ErrorClass, ErrorCode>> = {
  rateLimit: "resource_exhausted",
  network: "unavailable",
  timeout: "deadline_exceeded",
  auth: "unauthenticated",
  quota: "resource_exhausted",
  notFound: "not_found",
  overflow: "out_of_range",
  invalidRequest: "invalid_argument",
  server: "unavailable",
  protocol: "data_loss",
  refusal: "failed_precondition",
  aborted: "cancelled",
  config: "invalid_argument",
};

const RETRYABLE: ReadonlySet<ErrorClass> = new Set(["rateLimit", "network", "timeout", "server"]);

/** Facts about a failure. */
export interface ProviderErrorInit {
  readonly errorClass: ErrorClass;
  readonly message: string;
  /** Wins over what the class says, such as a server's `x-should-retry`. */
  readonly retryable?: boolean;
  /** Wins over the class's own. */
  readonly code?: ErrorCode;
  readonly retryAfterMs?: number;
  /** The provider finished its answer, and it is of no use: every repeat of it is paid for. */
  readonly isFinished?: boolean;
  readonly status?: number;
  /** Id of the connector that was called. */
  readonly connector?: string;
  readonly cause?: unknown;
}

/** A failed model call. */
export class ProviderError extends MeshError {
  override readonly name = "ProviderError";
  readonly errorClass: ErrorClass;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** See {@link ProviderErrorInit}; such a failure is repeated once at most. */
  readonly isFinished: boolean;
  readonly status: number | undefined;
  /** What was said before the failure; set by the provider that throws. */
  partial: AssistantMessage | undefined;

  constructor(init: ProviderErrorInit) {
    const retryable = init.retryable ?? RETRYABLE.has(init.errorClass);
    // Whoever must act on a 403 holds a good key that may not do this.
    const code = init.code ?? (init.status === 403 ? "permission_denied" : CODES[init.errorClass]);
    super(code, init.message, {
      details: {
        error_class: init.errorClass,
        retry: retryable,
        ...(init.connector === undefined ? {} : { connector: init.connector }),
        ...(init.status === undefined ? {} : { status: init.status }),
        ...(init.retryAfterMs === undefined ? {} : { retry_after_ms: init.retryAfterMs }),
      },
      ...(init.cause === undefined ? {} : { cause: init.cause }),
    });
    this.errorClass = init.errorClass;
    this.retryable = retryable;
    this.retryAfterMs = init.retryAfterMs;
    this.isFinished = init.isFinished === true;
    this.status = init.status;
  }
}
