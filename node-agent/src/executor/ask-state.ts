/** Asks the coordinator about the state of a run's workspace. */

import { type Json, MeshError } from "@mesh/kernel";
import { WorkspaceStateAnswer, WorkspaceStateRequest } from "@mesh/proto/wire";

import type { RunLog } from "../journal/run-log.ts";
import type { Link } from "../link/link.ts";
import type { StateQuestion } from "../runner/protocol.ts";

const RPC = "workspace";
// Questions that change nothing, and a chat's messages, which are kept once however often they are sent.
const REPEATABLE =
  /^(Get|Has|Keys|Len|Array(Len|Get|Slice|Page|All)|History|Append|Find|Paginate|Count|DB|KB|Read|List)$/;
// Below the payload limit of the bus, with room for what stands around them.
const MAX_ARGS_CHARS = 900 * 1024;

/** Asks and reads the answer. A question that changes something and whose answer is lost fails, saying that nobody knows. */
export async function askState(
  { runId: run_id, epoch }: RunLog,
  { service, method, args }: StateQuestion,
  link: Pick<Link, "ask" | "askOnce">,
  signal: AbortSignal,
): Promise<Json | undefined> {
  const args_json = JSON.stringify(args);
  if (Buffer.byteLength(args_json) > MAX_ARGS_CHARS) {
    throw new MeshError("resource_exhausted", `${service} ${method}: more than ${MAX_ARGS_CHARS / 1024} KiB at a time`);
  }
  const request = WorkspaceStateRequest.encode({ run_id, epoch, service, method, args_json }).finish();
  const isRepeatable = REPEATABLE.test(method);
  try {
    const answer = isRepeatable ? await link.ask(RPC, request, signal) : await link.askOnce(RPC, request, signal);
    const { result_json: text } = WorkspaceStateAnswer.decode(answer);
    return text === "" ? undefined : (JSON.parse(text) as Json);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (isRepeatable || (error.code !== "deadline_exceeded" && error.code !== "unavailable")) throw error;
    throw new MeshError(error.code, `${service} ${method}: the answer was lost, and whether it was done is not known`, {
      cause: error,
    });
  }
}
