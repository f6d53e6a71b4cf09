/** How failed calls are logged: what a person must look at is loud, what a client did wrong is not. */

import type { MeshError } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";

/** The call that failed. */
export interface FailedCall {
  readonly requestId: string;
  readonly path: string;
  readonly transport: "http" | "grpc";
}

/** Logs failed calls. */
export class ErrorLog {
  readonly #log: Pick<Logger, "error" | "warn" | "debug">;

  constructor(log: Pick<Logger, "error" | "warn" | "debug">) {
    this.#log = log;
  }

  /** One line; the text of an internal error appears only here. */
  report(error: MeshError, call: FailedCall): void {
    const fields = { ...call, code: error.code };
    if (error.code === "internal" || error.code === "unknown" || error.code === "data_loss") {
      this.#log.error({ ...fields, err: error.cause ?? error }, "call failed");
    } else if (error.code === "unavailable" || error.code === "deadline_exceeded") {
      this.#log.warn({ ...fields, err: error }, "call failed");
    } else {
      this.#log.debug({ ...fields, reason: error.message }, "call refused");
    }
  }
}
