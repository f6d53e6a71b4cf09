/** Idempotent creation of runs: one key means one run, for a day. */

import { MeshError } from "@mesh/kernel";
import { claimIdempotency, type Tx } from "@mesh/store";

import { requestHashOf, type RunDraft } from "./run-draft.ts";

/**
 * Claims the drafts' keys. Per draft id: the id of the run that the caller gets (its own when the key is new or absent),
 * or the error when the key was used for another request.
 */
export async function claimIdempotencyKeys(
  tx: Tx,
  drafts: readonly RunDraft[],
): Promise<Map<string, string | MeshError>> {
  const results = new Map<string, string | MeshError>(drafts.map((draft) => [draft.id, draft.id]));
  for (const draft of drafts) {
    if (draft.idempotencyKey !== "") results.set(draft.id, await claim(tx, draft));
  }
  return results;
}

/** Gives a key back that the draft had claimed, inside of the same transaction. */
export async function releaseIdempotencyKey(tx: Tx, draft: RunDraft): Promise<void> {
  if (draft.idempotencyKey === "") return;
  await tx`
    DELETE FROM idempotency
    WHERE scope = ${scopeOf(draft)} AND key = ${draft.idempotencyKey} AND result_id = ${draft.id}`;
}

function scopeOf(draft: RunDraft): string {
  return `runs:${draft.createdBy}`;
}

async function claim(tx: Tx, draft: RunDraft): Promise<string | MeshError> {
  const { idempotencyKey: key, id: resultId } = draft;
  try {
    const earlier = await claimIdempotency(tx, {
      scope: scopeOf(draft),
      key,
      requestHash: requestHashOf(draft),
      resultId,
    });
    return earlier ?? resultId;
  } catch (error) {
    // A refused key concerns its caller alone; a failed statement ends the whole pass.
    if (error instanceof MeshError) return error;
    throw error;
  }
}
