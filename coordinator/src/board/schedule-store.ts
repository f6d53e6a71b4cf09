/** Statements about schedules. */

import type { Sql, Tx } from "@mesh/store";

/** A schedule as it is to be. */
export interface NewSchedule {
  readonly taskId: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: "skip" | "once";
  readonly overlap: "skip" | "queue";
  readonly paused: boolean;
  readonly message: string;
  readonly setBy: string;
  readonly nextAt: Date | null;
}

/** Makes or replaces a schedule. */
export async function putSchedule(tx: Tx, schedule: NewSchedule): Promise<void> {
  const { taskId, cron, timeZone, missed, overlap, paused, message, setBy, nextAt } = schedule;
  await tx`
    INSERT INTO task_schedules (task_id, cron, time_zone, missed, overlap, paused, message, set_by, next_at)
    VALUES (${taskId}, ${cron}, ${timeZone}, ${missed}, ${overlap}, ${paused}, ${message}, ${setBy}, ${nextAt})
    ON CONFLICT (task_id) DO UPDATE SET cron = excluded.cron, time_zone = excluded.time_zone, missed = excluded.missed,
      overlap = excluded.overlap, paused = excluded.paused, message = excluded.message, set_by = excluded.set_by,
      next_at = excluded.next_at`;
}

/** Removes a schedule; false when there was none. */
export async function deleteSchedule(tx: Tx, taskId: string): Promise<boolean> {
  return (await tx`DELETE FROM task_schedules WHERE task_id = ${taskId}`).count === 1;
}

/** A schedule whose time has come. */
export interface DueSchedule {
  readonly task_id: string;
  readonly cron: string;
  readonly time_zone: string;
  readonly missed: "skip" | "once";
  readonly overlap: "skip" | "queue";
  readonly message: string;
  readonly set_by: string;
  readonly next_at: Date;
}

/** Tasks whose schedules are due at `now`. */
export async function dueSchedules(sql: Sql, now: Date, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ task_id: string }[]>`
    SELECT s.task_id FROM task_schedules s JOIN tasks t ON t.id = s.task_id
    WHERE NOT s.paused AND s.next_at <= ${now} AND t.archived_at IS NULL ORDER BY s.next_at LIMIT ${limit}`;
  return rows.map((row) => row.task_id);
}

/** The schedule of a locked task if it is still due. */
export async function lockDue(tx: Tx, taskId: string, now: Date): Promise<DueSchedule | undefined> {
  const [row] = await tx<DueSchedule[]>`
    SELECT task_id, cron, time_zone, missed, overlap, message, set_by, next_at FROM task_schedules
    WHERE task_id = ${taskId} AND NOT paused AND next_at <= ${now} FOR UPDATE`;
  return row;
}

/** Uses a due time up; false when it was used before. */
export async function useUp(tx: Tx, taskId: string, due: Date, outcome: string): Promise<boolean> {
  const made = await tx`
    INSERT INTO schedule_firings (task_id, due_at, outcome) VALUES (${taskId}, ${due}, ${outcome}) ON CONFLICT DO NOTHING`;
  return made.count === 1;
}

/** Sets the next time. */
export async function setNext(tx: Tx, taskId: string, next: Date | null, firedAt: Date | null): Promise<void> {
  await tx`
    UPDATE task_schedules SET next_at = ${next}, last_at = coalesce(${firedAt}, last_at) WHERE task_id = ${taskId}`;
}

/** Forgets which times were used up 90 days ago. */
export async function dropOldFirings(sql: Sql): Promise<void> {
  await sql`DELETE FROM schedule_firings WHERE due_at < now() - interval '90 days'`;
}
