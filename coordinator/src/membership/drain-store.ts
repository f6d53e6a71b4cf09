/** Drains whose deadline has passed. */

import type { Sql } from "@mesh/store";

/** Nodes past their deadline that still hold work: they must hand it back now. Named until they have, since a command may be lost. */
export async function overdueDrains(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ digest: string }[]>`
    SELECT digest FROM nodes n
    WHERE draining AND drain_deadline_at <= now() AND removed_at IS NULL AND EXISTS (
      SELECT 1 FROM runs r WHERE r.node_id = n.id AND r.state IN ('placed', 'accepted', 'running'))`;
  return rows.map((row) => row.digest);
}
