/** Reading what happened to a task. */

import type { Sql } from "@mesh/store";

/** One thing that happened. */
export interface ActivityRow {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The newest first; `before` is the last id of the page before. */
export async function listActivity(
  sql: Sql,
  taskId: string,
  before: string,
  limit: number,
): Promise<readonly ActivityRow[]> {
  return sql<ActivityRow[]>`
    SELECT id, at, actor, action, detail FROM task_activity
    WHERE task_id = ${taskId} ${before === "" ? sql`` : sql`AND id < ${before}`} ORDER BY id DESC LIMIT ${limit}`;
}
