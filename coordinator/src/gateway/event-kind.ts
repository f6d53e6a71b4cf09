/** The streams of numbered events that there are. */

import { MeshError } from "@mesh/kernel";
import type { Eval, EvalResult, FollowEvalRequest, FollowFeedRequest, FollowRunRequest, Run } from "@mesh/proto";

import { requireReached } from "../runs/event-view.ts";
import { isTerminal, toRunState } from "../runs/run-state.ts";
import { isEnded, requireLogged } from "../evals/eval-state.ts";
import type { EventSourceKind, NumberedEvent } from "./event-source.ts";
import type { HttpCall } from "./http-server.ts";
import type { Api, Call } from "./operation.ts";
import { handle, operationOf, validate } from "./operations.ts";

/** The log of a run. */
export function runEvents(api: Api): EventSourceKind {
  return {
    operation: operationOf("runs", "followRun"),
    begin: async (request, call) => {
      const message = request as FollowRunRequest;
      const run = await runOf(api, message, call);
      const state = toRunState(run.state);
      // Once the stream has begun it could only be cut, and an EventSource would come back with the same cursor for ever.
      if (state === undefined || !isTerminal(state)) requireReached(run, message.after_seq);
      if (state !== undefined && isTerminal(state) && message.after_seq >= run.last_seq) return undefined;
      return {
        afterSeq: message.after_seq,
        open: (bounded) => api.runs.followRun(message, bounded),
        end: (lastSeq) => ({ run_id: message.run, last_seq: lastSeq }),
      };
    },
  };
}

/** Also the access check: a foreign run fails here, as a problem and before any byte of a stream. */
async function runOf(api: Api, { run }: FollowRunRequest, call: HttpCall): Promise<Run> {
  const operation = operationOf("runs", "getRun");
  const response = (await handle(api, operation, { run }, call)) as { readonly run?: Run };
  if (response.run === undefined) throw new MeshError("internal", "getRun gave no run");
  return response.run;
}

/** The feed of a workspace. */
export function feedEvents(api: Api): EventSourceKind {
  const page = operationOf("feed", "listFeed");
  return {
    operation: operationOf("feed", "followFeed"),
    begin: async (request, call) => {
      const message = request as FollowFeedRequest;
      // The access check, before any byte of a stream.
      await handle(api, page, validate(page, { ...message, limit: 1 }), call);
      return {
        afterSeq: message.after_seq,
        open: (bounded) => api.feed.followFeed(message, bounded),
        end: (lastSeq) => ({ workspace: message.workspace, last_seq: lastSeq }),
      };
    },
  };
}

/** The log of an eval, and the eval itself when something else about it has changed. */
export function evalEvents(api: Api): EventSourceKind {
  const read = operationOf("evals", "getEval");
  return {
    operation: operationOf("evals", "followEval"),
    begin: async (request, call) => {
      const message = request as FollowEvalRequest;
      const answer = (await handle(api, read, { eval: message.eval }, call)) as { readonly eval?: Eval };
      if (answer.eval === undefined) throw new MeshError("internal", "getEval gave no eval");
      const { state, last_seq: lastSeq } = answer.eval;
      requireLogged(answer.eval, message.after_seq);
      if (isEnded(state) && message.after_seq >= lastSeq) return undefined;
      return {
        afterSeq: message.after_seq,
        open: (bounded) => numbered(api, message, bounded),
        end: (last) => ({ eval_id: message.eval, last_seq: last }),
      };
    },
  };
}

/** Data of a frame: what it tells, with the number and the kind that every frame has. */
type EvalFrame = NumberedEvent & Omit<EvalResult | Eval, "seq">;

// An eval stands at the cursor: resuming there loses no result that was not sent yet.
async function* numbered(
  api: Api,
  message: FollowEvalRequest,
  call: Call,
): AsyncGenerator<{ readonly event: EvalFrame }> {
  let seq = message.after_seq;
  for await (const { event } of api.evals.followEval(message, call)) {
    if (event === undefined) continue;
    if (event.$case === "result") ({ seq } = event.value);
    yield { event: { ...event.value, seq, kind: event.$case } };
  }
}
