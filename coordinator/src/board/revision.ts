/** Refusing a write over what somebody else has changed meanwhile. */

import { MeshError } from "@mesh/kernel";

/**
 * The error of a stale write. Clients must not simply send it again, so it says `should_retry: false`; `current` is the object as
 * it is now.
 */
export function revisionConflict(
  kind: string,
  revision: number,
  current: Readonly<Record<string, unknown>>,
): MeshError {
  return new MeshError(
    "aborted",
    `this ${kind} was changed since revision ${revision}; look at both versions and send yours again with the new revision`,
    { details: { code: "revision_conflict", should_retry: false, revision, ...current } },
  );
}
