/**
 * The handlers of the public interface, by service: plain functions over the proto messages, the same for HTTP and gRPC.
 * Requests arrive validated and complete (defaults filled in); responses are proto messages.
 */

import type {
  AnswerRunRequest,
  AnswerRunResponse,
  CancelRunRequest,
  CancelRunResponse,
  CreateJoinTokenRequest,
  CreateJoinTokenResponse,
  CreateRunRequest,
  CreateRunResponse,
  CreateTokenRequest,
  CreateTokenResponse,
  CreateWorkspaceRequest,
  CreateWorkspaceResponse,
  DeleteWorkspaceRequest,
  DeleteWorkspaceResponse,
  DrainNodeRequest,
  DrainNodeResponse,
  FollowRunRequest,
  FollowRunResponse,
  GetAppRequest,
  GetAppResponse,
  GetAssistantRequest,
  GetAssistantResponse,
  GetNodeRequest,
  GetNodeResponse,
  GetRunRequest,
  GetRunResponse,
  GetStatusRequest,
  GetStatusResponse,
  GetWorkspaceRequest,
  GetWorkspaceResponse,
  JoinNodeRequest,
  JoinNodeResponse,
  ListAppsRequest,
  ListAppsResponse,
  ListAssistantsRequest,
  ListAssistantsResponse,
  ListAuditRequest,
  ListAuditResponse,
  ListConnectorsRequest,
  ListConnectorsResponse,
  ListMembersRequest,
  ListMembersResponse,
  ListNodesRequest,
  ListNodesResponse,
  ListRunEventsRequest,
  ListRunEventsResponse,
  ListRunsRequest,
  ListRunsResponse,
  ListTokensRequest,
  ListTokensResponse,
  ListWorkspacesRequest,
  ListWorkspacesResponse,
  PushAppRequest,
  PushAppResponse,
  PutConnectorRequest,
  PutConnectorResponse,
  PutMemberRequest,
  PutMemberResponse,
  RemoveAppRequest,
  RemoveAppResponse,
  RemoveConnectorRequest,
  RemoveConnectorResponse,
  TestConnectorRequest,
  TestConnectorResponse,
  ListSecretsRequest,
  ListSecretsResponse,
  PutSecretRequest,
  PutSecretResponse,
  RemoveMemberRequest,
  RemoveMemberResponse,
  RemoveSecretRequest,
  RemoveSecretResponse,
  RemoveNodeRequest,
  RemoveNodeResponse,
  RenewNodeRequest,
  RenewNodeResponse,
  RetryRunRequest,
  RetryRunResponse,
  RevokeTokenRequest,
  RevokeTokenResponse,
  UndrainNodeRequest,
  UndrainNodeResponse,
  UpdateNodeRequest,
  UpdateNodeResponse,
  UpdateWorkspaceRequest,
  UpdateWorkspaceResponse,
  WhoAmIRequest,
  WhoAmIResponse,
} from "@mesh/proto";

import type { Caller } from "../auth/caller.ts";
import type { AgentsApi } from "./api/agent.ts";
import type { AccountApi } from "./api/account.ts";
import type { BoardApi, InboxApi, TaskApi } from "./api/board.ts";
import type { EvalApi } from "./api/eval.ts";
import type { FeedApi } from "./api/feed.ts";
import type { DocumentApi, FileApi } from "./api/files.ts";
import type { ChatApi } from "./api/chat.ts";
import type { WebhookApi } from "./api/webhook.ts";

export type { BoardApi, InboxApi, TaskApi } from "./api/board.ts";
export type { FeedApi } from "./api/feed.ts";
export type { DocumentApi, FileApi } from "./api/files.ts";
export type { Caller } from "../auth/caller.ts";
export type { AccountApi } from "./api/account.ts";

/** The circumstances of one call. */
export interface Call {
  /** `ANONYMOUS` for the operations that need no token. */
  readonly caller: Caller;
  /** Aborts when the client goes away, the deadline passes or the gateway stops. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly transport: "http" | "grpc";
  /** Where the call comes from; absent for calls that the system makes itself. */
  readonly client?: CallClient;
}

/** The other end of a call, for limits and for lists of where someone is logged in. */
export interface CallClient {
  /** Network address. */
  readonly address: string;
  /** What the program calls itself; empty when it does not. */
  readonly userAgent: string;
}

/** An rpc with one answer. */
export type Unary<Request, Response> = (request: Request, call: Call) => Promise<Response>;

/** An rpc that answers with a stream; ending the iteration (return or `call.signal`) releases what it holds. */
export type Streaming<Request, Response> = (request: Request, call: Call) => AsyncIterable<Response>;

/** Handlers of NodeService. */
export interface NodeApi {
  readonly createJoinToken: Unary<CreateJoinTokenRequest, CreateJoinTokenResponse>;
  readonly joinNode: Unary<JoinNodeRequest, JoinNodeResponse>;
  readonly renewNode: Unary<RenewNodeRequest, RenewNodeResponse>;
  readonly listNodes: Unary<ListNodesRequest, ListNodesResponse>;
  readonly getNode: Unary<GetNodeRequest, GetNodeResponse>;
  readonly updateNode: Unary<UpdateNodeRequest, UpdateNodeResponse>;
  readonly drainNode: Unary<DrainNodeRequest, DrainNodeResponse>;
  readonly undrainNode: Unary<UndrainNodeRequest, UndrainNodeResponse>;
  readonly removeNode: Unary<RemoveNodeRequest, RemoveNodeResponse>;
}

/** Handlers of RunService. */
export interface RunApi {
  readonly createRun: Unary<CreateRunRequest, CreateRunResponse>;
  readonly listRuns: Unary<ListRunsRequest, ListRunsResponse>;
  readonly getRun: Unary<GetRunRequest, GetRunResponse>;
  readonly cancelRun: Unary<CancelRunRequest, CancelRunResponse>;
  readonly answerRun: Unary<AnswerRunRequest, AnswerRunResponse>;
  readonly retryRun: Unary<RetryRunRequest, RetryRunResponse>;
  readonly listRunEvents: Unary<ListRunEventsRequest, ListRunEventsResponse>;
  /** Ends after the run's terminal event; ends at once when the cursor already stands behind it. */
  readonly followRun: Streaming<FollowRunRequest, FollowRunResponse>;
}

/** Handlers of WorkspaceService. */
export interface WorkspaceApi {
  readonly createWorkspace: Unary<CreateWorkspaceRequest, CreateWorkspaceResponse>;
  readonly listWorkspaces: Unary<ListWorkspacesRequest, ListWorkspacesResponse>;
  readonly getWorkspace: Unary<GetWorkspaceRequest, GetWorkspaceResponse>;
  readonly deleteWorkspace: Unary<DeleteWorkspaceRequest, DeleteWorkspaceResponse>;
  readonly putMember: Unary<PutMemberRequest, PutMemberResponse>;
  readonly listMembers: Unary<ListMembersRequest, ListMembersResponse>;
  readonly removeMember: Unary<RemoveMemberRequest, RemoveMemberResponse>;
  readonly updateWorkspace: Unary<UpdateWorkspaceRequest, UpdateWorkspaceResponse>;
  readonly putSecret: Unary<PutSecretRequest, PutSecretResponse>;
  readonly listSecrets: Unary<ListSecretsRequest, ListSecretsResponse>;
  readonly removeSecret: Unary<RemoveSecretRequest, RemoveSecretResponse>;
}

/** Handlers of AppService. */
export interface AppApi {
  readonly pushApp: Unary<PushAppRequest, PushAppResponse>;
  readonly listApps: Unary<ListAppsRequest, ListAppsResponse>;
  readonly getApp: Unary<GetAppRequest, GetAppResponse>;
  readonly removeApp: Unary<RemoveAppRequest, RemoveAppResponse>;
  readonly listAssistants: Unary<ListAssistantsRequest, ListAssistantsResponse>;
  readonly getAssistant: Unary<GetAssistantRequest, GetAssistantResponse>;
}

/** Handlers of ConnectorService. */
export interface ConnectorApi {
  readonly putConnector: Unary<PutConnectorRequest, PutConnectorResponse>;
  readonly listConnectors: Unary<ListConnectorsRequest, ListConnectorsResponse>;
  readonly removeConnector: Unary<RemoveConnectorRequest, RemoveConnectorResponse>;
  readonly testConnector: Unary<TestConnectorRequest, TestConnectorResponse>;
}

/** Handlers of TokenService. */
export interface TokenApi {
  readonly createToken: Unary<CreateTokenRequest, CreateTokenResponse>;
  readonly listTokens: Unary<ListTokensRequest, ListTokensResponse>;
  readonly revokeToken: Unary<RevokeTokenRequest, RevokeTokenResponse>;
  readonly whoAmI: Unary<WhoAmIRequest, WhoAmIResponse>;
}

/** Handlers of SystemService. */
export interface SystemApi {
  readonly getStatus: Unary<GetStatusRequest, GetStatusResponse>;
  readonly listAudit: Unary<ListAuditRequest, ListAuditResponse>;
}

/** Every handler, by service. */
export interface Api {
  readonly nodes: NodeApi;
  readonly runs: RunApi;
  readonly workspaces: WorkspaceApi;
  readonly apps: AppApi;
  readonly connectors: ConnectorApi;
  readonly tokens: TokenApi;
  readonly system: SystemApi;
  readonly accounts: AccountApi;
  readonly agents: AgentsApi;
  readonly feed: FeedApi;
  readonly files: FileApi;
  readonly documents: DocumentApi;
  readonly boards: BoardApi;
  readonly tasks: TaskApi;
  readonly inbox: InboxApi;
  readonly chats: ChatApi;
  readonly webhooks: WebhookApi;
  readonly evals: EvalApi;
}
