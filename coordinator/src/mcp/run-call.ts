/**
 * A run as one call: created, followed to its end, cancelled when nobody waits for it any more.
 *
 * U1  It goes through the same handlers as every other run, as the caller, and is held to the same bounds.
 * U2  Whatever makes the wait end before the run does cancels the run. A run that asks a person is left waiting.
 */

import { type JsonObject, MeshError, toErrorCode } from "@mesh/kernel";
import type { CreateRunResponse, FollowRunResponse } from "@mesh/proto";

import type { ErrorLog } from "../gateway/error-log.ts";
import type { HttpCall } from "../gateway/http-server.ts";
import type { OpenStreams } from "../gateway/open-streams.ts";
import type { Api, Call } from "../gateway/operation.ts";
import { handle, operationOf, validate } from "../gateway/operations.ts";
import { type RunEnd, RunWatch } from "./run-watch.ts";

/** What a call of a run uses. */
export interface RunCallDeps {
  readonly api: Api;
  readonly streams: Pick<OpenStreams, "follow">;
  readonly errors: Pick<ErrorLog, "report">;
}

/** The run that is wanted. */
export interface RunWish {
  readonly workspace: string;
  readonly assistant: string;
  /** The device it must run on; empty for any. */
  readonly node: string;
  readonly input: string;
  readonly options: JsonObject;
  readonly timeoutSeconds: number;
}

/** How the wait for a run ended. */
export type RunOutcome =
  | { readonly kind: "ended"; readonly runId: string; readonly end: RunEnd }
  | { readonly kind: "asks"; readonly runId: string; readonly questions: readonly string[] };

/** How long a run waits for a device: somebody sits at the other end, whose patience ends after a minute. */
const QUEUE_SECONDS = 30;

/** Runs it and waits; `onStatus` is told what happens meanwhile. */
export async function callRun(
  deps: RunCallDeps,
  wish: RunWish,
  call: HttpCall,
  onStatus: (line: string) => void,
): Promise<RunOutcome> {
  const runId = await createRun(deps.api, wish, call);
  const watch = new RunWatch();
  try {
    const follow = (bounded: Call): AsyncIterable<FollowRunResponse> =>
      deps.api.runs.followRun({ run: runId, after_seq: 0 }, bounded);
    for await (const { event } of deps.streams.follow(follow, call, call.token)) {
      if (event === undefined) continue;
      const line = watch.hear(event);
      if (line !== undefined) onStatus(line);
      if (watch.questions !== undefined) return { kind: "asks", runId, questions: watch.questions };
      if (watch.end !== undefined) return { kind: "ended", runId, end: watch.end };
    }
    throw new MeshError("aborted", `run ${runId} was deleted before it ended; call again`);
  } finally {
    if (watch.end === undefined && watch.questions === undefined) await cancelRun(deps, runId, call);
  }
}

/** The error of a run that ended without a result, saying what to do. */
export function runFailure(runId: string, { state, error }: RunEnd): MeshError {
  const more = `see: yao runs show ${runId}`;
  if (state === "cancelled") return new MeshError("cancelled", `run ${runId} was cancelled; ${more}`);
  const { code, message } = error ?? { code: "unknown", message: `it ended as ${state}` };
  if (code === "queue_expired") {
    const text = `no device took it within ${QUEUE_SECONDS} s: ${message}; look at your devices with: yao node list`;
    return new MeshError("unavailable", text);
  }
  const known = toErrorCode(code);
  // The text of a run's error is made for its users; that of an internal error would be hidden from them.
  const shown = known === undefined || known === "internal" ? "unknown" : known;
  return new MeshError(shown, `${message} (${more})`);
}

async function createRun(api: Api, wish: RunWish, call: HttpCall): Promise<string> {
  const operation = operationOf("runs", "createRun");
  const request = validate(operation, {
    workspace: wish.workspace,
    assistant: wish.assistant,
    input: wish.input,
    options: wish.options,
    requirements: { node: wish.node },
    timeout_seconds: wish.timeoutSeconds,
    queue_ttl_seconds: QUEUE_SECONDS,
    // Whoever waits for the answer cannot wait for a device that may come back tomorrow.
    on_lost: "fail",
  });
  const { run } = (await handle(api, operation, request, call)) as CreateRunResponse;
  if (run === undefined) throw new MeshError("internal", "createRun gave no run");
  return run.id;
}

/** Cancels a run that nobody waits for any more; a failure is only logged. */
export async function cancelRun(
  { api, errors }: Pick<RunCallDeps, "api" | "errors">,
  run: string,
  call: HttpCall,
): Promise<void> {
  // The signal of the call may be the reason for this.
  const signal = new AbortController().signal;
  const operation = operationOf("runs", "cancelRun");
  try {
    await handle(api, operation, validate(operation, { run }), { ...call, signal });
  } catch (thrown) {
    errors.report(MeshError.from(thrown), { requestId: call.requestId, path: `cancel ${run}`, transport: "http" });
  }
}
