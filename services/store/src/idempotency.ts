/**
 * Creating calls that may be repeated: the first call under a key decides the result, the others are given it.
 *
 * I1  Of concurrent calls under one key, one creates; the others wait for its transaction and get its result, or create
 *     themselves if it was rolled back.
 * I2  A key used for a different request is refused.
 */

import { MeshError } from "@mesh/kernel";
import type postgres from "postgres";

/** One creating call. */
export interface IdempotencyClaim {
  /** Whose key it is, such as a workspace and method; keys of different scopes never meet. */
  readonly scope: string;
  /** Chosen by the caller. */
  readonly key: string;
  /** Digest of the request's content. */
  readonly requestHash: string;
  /** The id the result will have if this call is the first. */
  readonly resultId: string;
}

const MAX_KEY_LENGTH = 255;

/** `details.reason` of the error of I2. */
export const KEY_REUSED = "idempotency_key_reused";

/**
 * Claims the key within the transaction that creates the result. Gives the id of the earlier result, or undefined if
 * this call is the one to create it.
 */
export async function claimIdempotency(
  tx: postgres.TransactionSql,
  claim: IdempotencyClaim,
): Promise<string | undefined> {
  if (claim.key.length === 0 || claim.key.length > MAX_KEY_LENGTH) {
    throw new MeshError("invalid_argument", `an idempotency key has 1 to ${MAX_KEY_LENGTH} characters`);
  }
  const inserted = await tx`
    INSERT INTO idempotency (scope, key, request_hash, result_id)
    VALUES (${claim.scope}, ${claim.key}, ${claim.requestHash}, ${claim.resultId})
    ON CONFLICT (scope, key) DO NOTHING`;
  if (inserted.count === 1) return undefined;
  const [earlier] = await tx<{ request_hash: string; result_id: string }[]>`
    SELECT request_hash, result_id FROM idempotency WHERE scope = ${claim.scope} AND key = ${claim.key}`;
  if (earlier === undefined) throw new MeshError("aborted", "the idempotency key was just forgotten; try again");
  if (earlier.request_hash !== claim.requestHash) {
    throw new MeshError(
      "already_exists",
      "this idempotency key was used for a different request; use a new key for a new request",
      { details: { key: claim.key, reason: KEY_REUSED } },
    );
  }
  return earlier.result_id;
}

/** Forgets keys older than `ageMs`; returns how many. */
export async function forgetIdempotency(sql: postgres.Sql | postgres.TransactionSql, ageMs: number): Promise<number> {
  const deleted = await sql`
    DELETE FROM idempotency WHERE created_at < now() - make_interval(secs => ${ageMs / 1000}::float8)`;
  return deleted.count;
}
