/**
 * What the feed shows: for each kind of object, how it is read and what its changes are called.
 *
 * A change is recorded with `touchFeed` (or by a trigger) in the transaction that makes it; what the event says of the object is
 * read later, when the change gets its number. So a kind needs no more than a name and a reader.
 */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

/** An object of a workspace. */
export interface FeedKey {
  readonly workspaceId: string;
  readonly object: string;
}

/** A kind of object. */
export interface FeedKind {
  /** As `feed_outbox.kind` says it, such as `task`; the event is `task.changed`. */
  readonly noun: string;
  /** Kind of the event when there is no such object any more. */
  readonly gone: string;
  /** The objects that exist, by {@link feedKeyName}, each as the lists of the API give it. */
  readonly read: (sql: Sql | Tx, keys: readonly FeedKey[]) => Promise<ReadonlyMap<string, JsonObject>>;
}

/** The name of a key in the result of a reader. */
export function feedKeyName({ workspaceId, object }: FeedKey): string {
  return `${workspaceId} ${object}`;
}

/** Records that objects of a workspace changed; to be called in the transaction of the change. */
export async function touchFeed(tx: Sql | Tx, workspaceId: string, noun: string, ...objects: string[]): Promise<void> {
  await tx`
    INSERT INTO feed_outbox (workspace_id, kind, object)
    SELECT ${workspaceId}, ${noun}, o FROM unnest(${objects}::text[]) AS o`;
}
