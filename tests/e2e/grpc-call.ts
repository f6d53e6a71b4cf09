/** Plain grpc-js calls with a bearer token against the gateway, for tests that compare transports. */

import {
  type ChannelCredentials,
  type Client,
  credentials,
  makeGenericClientConstructor,
  Metadata,
  type ServiceDefinition,
  type ServiceError,
} from "@grpc/grpc-js";

/** One method of one service. */
export interface GrpcMethod {
  readonly service: ServiceDefinition;
  /** As generated: `createRun`. */
  readonly method: string;
}

/** Where a call goes and as whom. */
export interface GrpcTarget {
  readonly address: string;
  readonly token: string;
  readonly credentials?: ChannelCredentials;
}

type Unary = (
  request: unknown,
  metadata: Metadata,
  done: (error: ServiceError | null, answer: unknown) => void,
) => unknown;
type Streaming = (request: unknown, metadata: Metadata) => AsyncIterable<unknown>;

/** Metadata that authenticates with an API token. */
export function bearer(token: string): Metadata {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  return metadata;
}

/** Calls a method once; a stream is read to its end. Rejects with grpc-js's own error. */
export async function callGrpc(
  target: GrpcTarget,
  { service, method }: GrpcMethod,
  request: unknown,
): Promise<unknown> {
  const Constructor = makeGenericClientConstructor(service, "service");
  const client = new Constructor(target.address, target.credentials ?? credentials.createInsecure());
  try {
    return (service[method]?.responseStream ?? false)
      ? await readAll(client, method, request, target.token)
      : await once(client, method, request, target.token);
  } finally {
    client.close();
  }
}

function once(client: Client, method: string, request: unknown, token: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const call = (client as unknown as Record<string, Unary>)[method];
    call?.call(client, request, bearer(token), (error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

async function readAll(client: Client, method: string, request: unknown, token: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  const call = (client as unknown as Record<string, Streaming>)[method];
  for await (const answer of call?.call(client, request, bearer(token)) ?? []) answers.push(answer);
  return answers;
}
