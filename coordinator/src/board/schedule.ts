/** When a task is due by its schedule. Pure: time comes in. */

import { MeshError } from "@mesh/kernel";
import { Cron } from "croner";

/** What a schedule says about time. */
export interface Timetable {
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: "skip" | "once";
}

/** A due time older than this has been missed. */
export const MISSED_AFTER_MS = 60_000;
const MAX_CRON = 100;

/**
 * The next `count` times after `from`. Daylight saving: a time that the clocks jump over fires right after the jump, one that comes
 * twice fires once. Throws `invalid_argument` saying what is wrong.
 */
export function nextTimes({ cron, timeZone }: Omit<Timetable, "missed">, from: Date, count: number): readonly Date[] {
  return openCron(cron, timeZone).nextRuns(count, from);
}

/** What to do with a due time, and when the next one is. */
export interface DueStep {
  readonly fires: boolean;
  readonly next: Date | null;
}

/** Decides about a due time at `now`. Of several missed times, `once` makes up for the newest only. */
export function stepOf(timetable: Timetable, due: Date, now: Date): DueStep {
  const [next = null] = nextTimes(timetable, now, 1);
  const isLate = now.getTime() - due.getTime() > MISSED_AFTER_MS;
  return { fires: !isLate || timetable.missed === "once", next };
}

function openCron(expression: string, timeZone: string): Cron {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 5 || expression.length > MAX_CRON || expression.trim().startsWith("@")) {
    throw invalid(
      `cron needs five fields (minute hour day month weekday), such as "0 9 * * 1-5", not "${shown(expression)}"`,
    );
  }
  if (!isTimeZone(timeZone))
    throw invalid(`"${shown(timeZone)}" is no time zone; use an IANA name such as Europe/Berlin`);
  try {
    const cron = new Cron(fields.join(" "), { timezone: timeZone, paused: true, mode: "5-part" });
    if (cron.nextRun(new Date(0)) === null) throw new TypeError("it never comes");
    return cron;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message.replace(/^CronPattern: /, "") : "";
    throw invalid(`cron "${shown(expression)}" is not understood: ${reason}`);
  }
}

function isTimeZone(name: string): boolean {
  if (name === "" || name.length > 64 || /^[+-]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function shown(text: string): string {
  return text.slice(0, MAX_CRON);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
