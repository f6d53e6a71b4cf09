/** The gRPC side of the gateway: the rows of the operation table as services, over the same handlers as HTTP. */

import { isObject, MeshError } from "@mesh/kernel";
import {
  AccountServiceService,
  AppServiceService,
  AgentServiceService,
  BoardServiceService,
  ChatServiceService,
  ConnectorServiceService,
  DocumentServiceService,
  EvalServiceService,
  FeedServiceService,
  FileServiceService,
  InboxServiceService,
  NodeServiceService,
  RunServiceService,
  SystemServiceService,
  TaskServiceService,
  TokenServiceService,
  WebhookServiceService,
  WorkspaceServiceService,
} from "@mesh/proto";
import type { RpcCall, RpcService, RpcStreaming, RpcUnary } from "@mesh/rpc";

import type { Admission } from "./admission.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Api, Call } from "./operation.ts";
import { handle, openStream, type Operation, OPERATIONS, validate } from "./operations.ts";

/** What the gRPC services use. */
export interface GrpcDeps {
  readonly api: Api;
  readonly admission: Admission;
  readonly streams: OpenStreams;
}

const DEFINITIONS: Readonly<Record<keyof Api, RpcService["definition"]>> = {
  nodes: NodeServiceService,
  runs: RunServiceService,
  workspaces: WorkspaceServiceService,
  apps: AppServiceService,
  connectors: ConnectorServiceService,
  tokens: TokenServiceService,
  system: SystemServiceService,
  accounts: AccountServiceService,
  agents: AgentServiceService,
  feed: FeedServiceService,
  files: FileServiceService,
  documents: DocumentServiceService,
  boards: BoardServiceService,
  tasks: TaskServiceService,
  inbox: InboxServiceService,
  chats: ChatServiceService,
  webhooks: WebhookServiceService,
  evals: EvalServiceService,
};

/** All services. */
export function grpcServices(deps: GrpcDeps): readonly RpcService[] {
  return Object.entries(DEFINITIONS).map(([service, definition]) => {
    const operations = OPERATIONS.filter((operation) => operation.service === service);
    return {
      definition,
      unary: Object.fromEntries(
        operations
          .filter((operation) => !operation.streaming)
          .map((operation) => [operation.method, unary(deps, operation)]),
      ),
      streaming: Object.fromEntries(
        operations
          .filter((operation) => operation.streaming)
          .map((operation) => [operation.method, streamed(deps, operation)]),
      ),
    };
  });
}

function unary(deps: GrpcDeps, operation: Operation): RpcUnary {
  return async (request, rpc) => {
    const { call } = await admit(deps, operation, rpc);
    return handle(deps.api, operation, validate(operation, given(request)), call);
  };
}

function streamed(deps: GrpcDeps, operation: Operation): RpcStreaming {
  return async function* stream(request, rpc) {
    const { call, token } = await admit(deps, operation, rpc);
    const message = validate(operation, given(request));
    yield* deps.streams.follow((bounded) => openStream(deps.api, operation, message, bounded), call, token);
  };
}

async function admit(
  deps: GrpcDeps,
  operation: Operation,
  rpc: RpcCall,
): Promise<{ readonly call: Call; readonly token: string }> {
  const [authorization] = rpc.metadata.get("authorization");
  const address = withoutPort(rpc.peer);
  const origin = {
    authorization: typeof authorization === "string" ? authorization : undefined,
    address,
    ...(operation.mayHaveCaller === true ? { mayHaveCaller: true } : {}),
  };
  const { caller, token } = await deps.admission.admit(operation.scope, origin, operation);
  const [agent] = rpc.metadata.get("user-agent");
  const client = { address, userAgent: typeof agent === "string" ? agent.slice(0, 300) : "" };
  return { call: { caller, signal: rpc.signal, requestId: rpc.requestId, transport: "grpc", client }, token };
}

/** A decoded message without its absent parts, as JSON would have it. */
function given(message: unknown): unknown {
  if (!isObject(message)) throw new MeshError("internal", "a decoded request is not an object");
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}

function withoutPort(peer: string): string {
  return peer.replace(/:\d+$/, "");
}
