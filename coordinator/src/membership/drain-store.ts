/** Drains whose deadline has passed. */

import type { Sql } from "@mesh/store";

/** Nodes that must hand their work back now; each is named once. */
export async function takeOverdueDrains(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ digest: string }[]>`
    UPDATE nodes SET drain_deadline_at = NULL
    WHERE draining AND drain_deadline_at <= now() AND removed_at IS NULL RETURNING digest`;
  return rows.map((row) => row.digest);
}
