/** Fetches a batch of an eval, part by part, and asks whether it may call a model. */

import { type Clock, MeshError } from "@mesh/kernel";
import type { EvalBatchPart } from "@mesh/proto";
import { EvalPermitAnswer, EvalPermitRequest } from "@mesh/proto/wire";

import type { RunLog } from "../journal/run-log.ts";
import type { Link } from "../link/link.ts";
import type { PermitQuestion } from "../runner/protocol.ts";

// A bound on what a coordinator may make this device keep in memory; the units of a batch are few, and a case has 1 MB at most.
const MAX_BATCH_CHARS = 64 * 1024 * 1024;
const MAX_PARTS = 4096;
const PERMIT_MS = 5_000;
const MAX_PROVIDER_CHARS = 200;

/** Reads all parts; `ask` gives one of them. */
export async function fetchEvalBatch(ask: (part: number) => Promise<EvalBatchPart>): Promise<string> {
  const pieces: string[] = [];
  let chars = 0;
  for (let part = 0, total = 1; part < total; part += 1) {
    const { parts, body } = await ask(part);
    total = parts;
    chars += body.length;
    if (chars > MAX_BATCH_CHARS || total > MAX_PARTS) {
      throw new MeshError("resource_exhausted", "the batch of the eval is too large for this device");
    }
    pieces.push(body);
  }
  return pieces.join("");
}

/** What a permit is asked with. */
export interface PermitDeps {
  readonly link: Pick<Link, "ask">;
  readonly clock: Clock;
}

/** Asks for permits. Rejects with `unavailable` when nobody answers for a while. */
export async function askPermit(
  { runId: run_id, epoch }: RunLog,
  { provider, calls, slowDownMs: slow_down_ms }: PermitQuestion,
  { link, clock }: PermitDeps,
  signal: AbortSignal,
): Promise<{ readonly granted: number; readonly waitMs: number }> {
  const name = provider.slice(0, MAX_PROVIDER_CHARS);
  const request = EvalPermitRequest.encode({ run_id, epoch, provider: name, calls, slow_down_ms }).finish();
  const late = new AbortController();
  const cancel = clock.after(PERMIT_MS, () => late.abort());
  try {
    const answer = await link.ask("eval_permit", request, AbortSignal.any([signal, late.signal]));
    const { granted, wait_ms: waitMs } = EvalPermitAnswer.decode(answer);
    return { granted, waitMs };
  } catch (error) {
    if (signal.aborted || !late.signal.aborted) throw error;
    throw new MeshError("unavailable", "the coordinator did not say whether a model may be called", { cause: error });
  } finally {
    cancel();
  }
}
