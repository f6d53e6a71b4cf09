/** Runs that wait for a person: their saved state, what they ask and what was answered. Frozen: later changes are new migrations. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // The epoch whose saved state a run goes on from; null: from its input.
  `ALTER TABLE runs ADD COLUMN saved_epoch integer`,
  // Time spent in epochs that ended by waiting; what is left of the time-out is for the next ones.
  `ALTER TABLE runs ADD COLUMN active_ms bigint NOT NULL DEFAULT 0`,
  `CREATE INDEX runs_waiting ON runs (id) WHERE state = 'waiting'`,
  // Deleted once the run has ended or goes on from a later state.
  `CREATE TABLE run_state_parts (
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    epoch integer NOT NULL,
    n integer NOT NULL,
    bytes integer NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (run_id, epoch, n)
  )`,
  // Kept as long as the run, so that a repeated answer stays harmless. JSON as text: what models write, jsonb may refuse.
  `CREATE TABLE run_questions (
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    epoch integer NOT NULL,
    call_id text NOT NULL,
    position integer NOT NULL,
    item text NOT NULL,
    answer text,
    answered_by text,
    answered_at timestamptz,
    PRIMARY KEY (run_id, epoch, call_id),
    CHECK ((answer IS NULL) = (answered_by IS NULL) AND (answer IS NULL) = (answered_at IS NULL))
  )`,
];

/** Adds the tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
