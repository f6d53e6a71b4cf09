/** Calls from TypeScript: promises and async iteration over a generated grpc-js client, failures as MeshError. */

import { type ClientReadableStream, type ClientUnaryCall, Metadata, type ServiceError } from "@grpc/grpc-js";
import { MeshError } from "@mesh/kernel";

import { fromStatus } from "./status.ts";

/** One unary method of a generated client, bound to it. */
export type ClientMethod<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: { readonly deadline?: Date },
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

/** Metadata that authenticates with an API token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** Circumstances of a client call. */
export interface ClientCallOptions {
  readonly metadata?: Metadata;
  readonly deadline?: Date;
  readonly signal?: AbortSignal;
}

/** Calls a unary method; rejects with MeshError. */
export function callUnary<Request, Response>(
  method: ClientMethod<Request, Response>,
  request: Request,
  options: ClientCallOptions = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { signal, deadline } = options;
    const call = method(
      request,
      options.metadata ?? new Metadata(),
      deadline ? { deadline } : {},
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error === null) resolve(response);
        else reject(fromStatus(error));
      },
    );
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted === true) cancel();
  });
}

/** Messages of a server stream; leaving the loop cancels the call. */
export async function* readStream<Response>(stream: ClientReadableStream<Response>): AsyncGenerator<Response> {
  try {
    for await (const message of stream) yield message as Response;
  } catch (thrown) {
    throw isServiceError(thrown) ? fromStatus(thrown) : MeshError.from(thrown);
  } finally {
    stream.cancel();
  }
}

function isServiceError(thrown: unknown): thrown is ServiceError {
  return thrown instanceof Error && "metadata" in thrown && thrown.metadata instanceof Metadata;
}
