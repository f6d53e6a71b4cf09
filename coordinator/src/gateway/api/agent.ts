/** Handlers of AgentService. */

import type * as proto from "@mesh/proto";

import type { Unary } from "../operation.ts";

/** Handlers of AgentService. */
export interface AgentsApi {
  readonly previewAgent: Unary<proto.PreviewAgentRequest, proto.PreviewAgentResponse>;
  readonly promoteTask: Unary<proto.PromoteTaskRequest, proto.PromoteTaskResponse>;
  readonly listAgents: Unary<proto.ListAgentsRequest, proto.ListAgentsResponse>;
  readonly getAgent: Unary<proto.GetAgentRequest, proto.GetAgentResponse>;
  readonly removeAgent: Unary<proto.RemoveAgentRequest, proto.RemoveAgentResponse>;
  readonly createShare: Unary<proto.CreateShareRequest, proto.CreateShareResponse>;
  readonly listShares: Unary<proto.ListSharesRequest, proto.ListSharesResponse>;
  readonly revokeShare: Unary<proto.RevokeShareRequest, proto.RevokeShareResponse>;
  /** Needs no caller: the code is the right. */
  readonly openShare: Unary<proto.OpenShareRequest, proto.OpenShareResponse>;
  readonly runShare: Unary<proto.RunShareRequest, proto.RunShareResponse>;
  readonly getShareRun: Unary<proto.GetShareRunRequest, proto.GetShareRunResponse>;
}
