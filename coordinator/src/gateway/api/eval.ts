/** Handlers of EvalService. */

import type * as proto from "@mesh/proto";

import type { Streaming, Unary } from "../operation.ts";

/** Handlers of EvalService. */
export interface EvalApi {
  readonly pushEvalBundle: Unary<proto.PushEvalBundleRequest, proto.PushEvalBundleResponse>;
  readonly planEval: Unary<proto.PlanEvalRequest, proto.PlanEvalResponse>;
  readonly createEval: Unary<proto.CreateEvalRequest, proto.CreateEvalResponse>;
  readonly addEvalCases: Unary<proto.AddEvalCasesRequest, proto.AddEvalCasesResponse>;
  readonly startEval: Unary<proto.StartEvalRequest, proto.StartEvalResponse>;
  readonly listEvals: Unary<proto.ListEvalsRequest, proto.ListEvalsResponse>;
  readonly getEval: Unary<proto.GetEvalRequest, proto.GetEvalResponse>;
  readonly cancelEval: Unary<proto.CancelEvalRequest, proto.CancelEvalResponse>;
  readonly resumeEval: Unary<proto.ResumeEvalRequest, proto.ResumeEvalResponse>;
  readonly removeEval: Unary<proto.RemoveEvalRequest, proto.RemoveEvalResponse>;
  readonly listEvalCases: Unary<proto.ListEvalCasesRequest, proto.ListEvalCasesResponse>;
  readonly listEvalResults: Unary<proto.ListEvalResultsRequest, proto.ListEvalResultsResponse>;
  /** Ends after the eval as it has ended; at once when it had and the cursor stands at its end. */
  readonly followEval: Streaming<proto.FollowEvalRequest, proto.FollowEvalResponse>;
}
