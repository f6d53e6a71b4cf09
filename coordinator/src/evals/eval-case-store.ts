/**
 * The cases of an eval, as they come in.
 *
 * C1  A case that cannot be read is refused with its position, and nothing of its request is kept.
 * C2  Cases fill the positions from 0 on; the same case at the same position again is harmless, another one is refused.
 */

import { casesOf, type EvalCase } from "@mesh/eval";
import { type Json, MeshError } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

/** A case that is to be stored. */
export interface NewCase {
  readonly caseId: string;
  readonly hash: string;
  /** JSON text. */
  readonly body: string;
}

/** Cases of one eval. */
export const MAX_CASES = 200_000;
const MAX_CASE_BYTES = 1024 * 1024;
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN = 20;
/** What names the list in problems; their line is the place in it. */
const LIST = "cases";

/** Reads cases; throws `invalid_argument` with `details.errors`, all that is wrong at once. */
export function readCases(list: readonly unknown[], at: number, simulator: string): readonly NewCase[] {
  if (list.length === 0) return [];
  const bodies = list.map((each) => JSON.stringify(each));
  requireBounded(bodies, at);
  const read = casesOf(list as readonly Json[], LIST, simulator === "" ? {} : { simulator });
  if (read.problems.length > 0) {
    throw refused(read.problems.map(({ line, message }) => ({ position: at + line - 1, message })));
  }
  return read.cases.map(({ id, hash }: EvalCase, index) => ({ caseId: id, hash, body: bodies[index] ?? "" }));
}

function requireBounded(bodies: readonly string[], at: number): void {
  let bytes = 0;
  for (const [index, body] of bodies.entries()) {
    const size = Buffer.byteLength(body);
    bytes += size;
    if (size <= MAX_CASE_BYTES) continue;
    throw refused([{ position: at + index, message: `has ${size} bytes; a case has at most ${MAX_CASE_BYTES}` }]);
  }
  if (bytes <= MAX_REQUEST_BYTES) return;
  throw new MeshError(
    "invalid_argument",
    `the cases have ${bytes} bytes; send at most ${MAX_REQUEST_BYTES} at once, and the others with AddEvalCases`,
  );
}

/** Stores cases from a position on; the transaction holds the eval's row. Returns how many the eval has then. */
export async function addCases(tx: Tx, evalId: string, at: number, cases: readonly NewCase[]): Promise<number> {
  const [row] = await tx<{ count: number }[]>`SELECT cases AS count FROM evals WHERE id = ${evalId}`;
  const count = row?.count ?? 0;
  if (at > count) {
    throw new MeshError(
      "failed_precondition",
      `the eval has ${count} cases; the next ones begin at ${count}, not ${at}`,
    );
  }
  if (at + cases.length > MAX_CASES) {
    throw new MeshError("invalid_argument", `an eval has at most ${MAX_CASES} cases; split it`);
  }
  await tx`
    INSERT INTO eval_cases (eval_id, ordinal, case_id, hash, body)
    SELECT ${evalId}, ${at}::int + n::int - 1, c, h, b
    FROM unnest(${cases.map((each) => each.caseId)}::text[], ${cases.map((each) => each.hash)}::text[],
      ${cases.map((each) => each.body)}::text[]) WITH ORDINALITY AS u (c, h, b, n)
    ON CONFLICT DO NOTHING`;
  await requireStored(tx, evalId, at, cases);
  const now = Math.max(count, at + cases.length);
  await tx`UPDATE evals SET cases = ${now} WHERE id = ${evalId}`;
  return now;
}

// What met another row was not stored: the position or the id was taken.
async function requireStored(tx: Tx, evalId: string, at: number, cases: readonly NewCase[]): Promise<void> {
  const stored = await tx<{ ordinal: number; hash: string }[]>`
    SELECT ordinal, hash FROM eval_cases
    WHERE eval_id = ${evalId} AND ordinal >= ${at} AND ordinal < ${at + cases.length}`;
  const hashes = new Map(stored.map(({ ordinal, hash }) => [ordinal, hash]));
  const wrong = cases.flatMap((each, index) =>
    hashes.get(at + index) === each.hash ? [] : [{ each, position: at + index }],
  );
  if (wrong.length === 0) return;
  const shown = wrong.slice(0, MAX_SHOWN);
  const owners = await tx<{ case_id: string; ordinal: number }[]>`
    SELECT case_id, ordinal FROM eval_cases
    WHERE eval_id = ${evalId} AND case_id = ANY (${shown.map(({ each }) => each.caseId)}::text[])`;
  const places = new Map(owners.map(({ case_id: id, ordinal }) => [id, ordinal]));
  throw refused(
    shown.map(({ each, position }) => {
      const other = places.get(each.caseId);
      const isTaken = other !== undefined && other !== position;
      const message = isTaken
        ? `the id "${each.caseId}" is taken: position ${other} has it too`
        : "another case stands at this position";
      return { position, message };
    }),
  );
}

function refused(errors: readonly { readonly position: number; readonly message: string }[]): MeshError {
  const shown = errors
    .slice(0, MAX_SHOWN)
    .map(({ position, message }) => ({ field: `cases.${Math.max(0, position)}`, message }));
  const more = errors.length > MAX_SHOWN ? `; and ${errors.length - MAX_SHOWN} more` : "";
  const text = `${shown.map(({ field, message }) => `${field} ${message}`).join("; ")}${more}`;
  return new MeshError("invalid_argument", text, { details: { errors: shown } });
}
