/**
 * One chat completion as a run.
 *
 * U1  It goes through the same handlers as every other run, as the caller, and is held to the same bounds.
 * U2  A client that goes away cancels its run, unless it sent an idempotency key: then it may come back for the answer. A run
 *     that asks a person is left waiting.
 */

import { MeshError } from "@mesh/kernel";
import type { CreateRunResponse, FollowRunResponse, Run } from "@mesh/proto";

import type { ErrorLog } from "../gateway/error-log.ts";
import type { HttpCall } from "../gateway/http-server.ts";
import type { Api, Call } from "../gateway/operation.ts";
import { handle, operationOf, validate } from "../gateway/operations.ts";
import type { OpenStreams } from "../gateway/open-streams.ts";
import { cancelRun } from "../mcp/run-call.ts";
import { chatChunks, type ChatHead, type ChatStep } from "./chat-chunks.ts";
import { QUEUE_SECONDS } from "./chat-failure.ts";
import type { ChatRequest } from "./chat-request.ts";
import type { ModelTarget } from "./model-ref.ts";

/** What a completion uses. */
export interface ChatRunDeps {
  readonly api: Api;
  readonly streams: Pick<OpenStreams, "follow">;
  readonly errors: Pick<ErrorLog, "report">;
}

/** A run that answers a completion. */
export interface ChatRun {
  readonly runId: string;
  readonly head: ChatHead;
  /** An earlier request with the same key made it. */
  readonly isReplayed: boolean;
  /** May be called with the same key again. */
  readonly isKept: boolean;
}

/** Creates the run. */
export async function startChatRun(
  { api }: Pick<ChatRunDeps, "api">,
  wish: { readonly request: ChatRequest; readonly target: ModelTarget; readonly idempotencyKey: string },
  call: HttpCall,
): Promise<ChatRun> {
  const { request, target, idempotencyKey } = wish;
  const operation = operationOf("runs", "createRun");
  const input = validate(operation, {
    ...target,
    input: request.input,
    messages_json: request.messagesJson,
    options: request.options,
    metadata: request.metadata,
    queue_ttl_seconds: QUEUE_SECONDS,
    // Whoever waits for the answer cannot wait for a device that may come back tomorrow.
    on_lost: "fail",
    idempotency_key: idempotencyKey,
  });
  const { run, replayed } = (await handle(api, operation, input, call)) as CreateRunResponse;
  if (run === undefined) throw new MeshError("internal", "createRun gave no run");
  return { runId: run.id, head: headOf(run, request), isReplayed: replayed, isKept: idempotencyKey !== "" };
}

function headOf({ id, created_at: at }: Run, { model, includesUsage, functions }: ChatRequest): ChatHead {
  const createdMs = Date.parse(at);
  return {
    id: `chatcmpl-${id.slice(id.indexOf("_") + 1)}`,
    created: Number.isNaN(createdMs) ? 0 : Math.floor(createdMs / 1000),
    model,
    includesUsage,
    functions,
  };
}

/** What the run says, to its end or its failure; leaving early cancels it (U2). */
export async function* followChatRun(
  deps: ChatRunDeps,
  { runId, head, isKept }: ChatRun,
  call: HttpCall,
): AsyncGenerator<ChatStep> {
  const read = chatChunks(head);
  let isOver = false;
  try {
    const follow = (bounded: Call): AsyncIterable<FollowRunResponse> =>
      deps.api.runs.followRun({ run: runId, after_seq: 0 }, bounded);
    for await (const { event } of deps.streams.follow(follow, call, call.token)) {
      if (event === undefined) continue;
      for (const step of read(event)) {
        isOver ||= step.kind !== "chunk";
        yield step;
      }
      if (isOver) return;
    }
    throw new MeshError("aborted", `run ${runId} was deleted before it ended; send the request again`);
  } finally {
    if (!isOver && !isKept) await cancelRun(deps, runId, call);
  }
}
