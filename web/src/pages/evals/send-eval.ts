/** Makes an eval out of what a person filled in; many cases go in several calls. */

import type { CreateEvalRequest, Eval } from "@mesh/proto";

import { ApiError } from "../../api/error.ts";
import { addEvalCases, createEval, removeEval, startEval } from "../../api/evals.ts";
import type { WrittenCase } from "./read-cases.ts";

// A call takes 1 MB; a case may be that large and then goes alone.
const MAX_CALL_BYTES = 700_000;
const MAX_CALL_CASES = 500;

/** An eval that is to be made. */
export interface NewEval extends Pick<
  CreateEvalRequest,
  "workspace" | "assistant" | "name" | "placement" | "settings"
> {
  readonly cases: readonly WrittenCase[];
}

/** A part of the cases. */
interface Part {
  readonly at: number;
  readonly cases: readonly WrittenCase[];
}

/** Makes and starts it. `onSent` is told how many cases are there; `key` makes repeating harmless. */
export async function sendEval(fresh: NewEval, key: string, onSent: (count: number) => void): Promise<Eval> {
  const { cases, ...about } = fresh;
  const parts = partsOf(cases);
  const [only] = parts;
  if (only !== undefined && parts.length === 1) {
    const made = await createEval({ ...about, cases: valuesOf(only) }, { idempotencyKey: key });
    return given(made.eval);
  }
  const draft = given((await createEval({ ...about, draft: true }, { idempotencyKey: key })).eval);
  try {
    for (const part of parts) {
      await addPart(draft.id, part);
      onSent(part.at + part.cases.length);
    }
    return given((await startEval({ eval: draft.id })).eval);
  } catch (thrown) {
    // What was refused is filled in anew: the draft would stay for ever. What broke on the way is gone on with.
    if (!ApiError.from(thrown).isRetryable) await discard(draft.id);
    throw thrown;
  }
}

async function discard(id: string): Promise<void> {
  // Why the cases were refused is what is told; a draft that stays is in the list and can be removed there.
  await removeEval({ eval: id }).catch(() => undefined);
}

async function addPart(id: string, part: Part): Promise<void> {
  try {
    await addEvalCases({ eval: id, at: part.at, cases: valuesOf(part) });
  } catch (thrown) {
    throw moved(ApiError.from(thrown), part.at);
  }
}

/**
 * A refusal of one part, in the numbers of the whole. What is wrong inside of a case is told with its place in the eval, what is
 * wrong with the form of the request with its place in the request, which is less than that of the part's first case.
 */
function moved(error: ApiError, by: number): ApiError {
  const { status, code, message, requestId, details } = error;
  const fields = error.fields.map(({ field, message: text }) => {
    const place = readPlace(field);
    const isMoved = place === undefined || place.index >= by;
    return { field: isMoved ? field : `cases.${place.index + by}${place.rest}`, message: text };
  });
  return new ApiError({ status, code, message, requestId, details, fields });
}

/** A finding of the coordinator about one case. */
export interface RefusedCase {
  readonly line: number;
  readonly id: string;
  readonly message: string;
}

/** What the coordinator said about single cases, with their lines. */
export function refusedCases(error: ApiError, cases: readonly WrittenCase[]): readonly RefusedCase[] {
  return error.fields.flatMap(({ field, message }) => {
    const place = readPlace(field);
    const written = place === undefined ? undefined : cases[place.index];
    if (place === undefined || written === undefined) return [];
    const inside = place.rest.replace(/^\./, "");
    return [{ line: written.line, id: written.id, message: inside === "" ? message : `${inside}: ${message}` }];
  });
}

/** The place that `cases.3.id` names. */
function readPlace(field: string): { readonly index: number; readonly rest: string } | undefined {
  const match = /^cases\.(\d+)(.*)$/.exec(field);
  return match === null ? undefined : { index: Number(match[1]), rest: match[2] ?? "" };
}

function partsOf(cases: readonly WrittenCase[]): readonly Part[] {
  const parts: { at: number; cases: WrittenCase[]; bytes: number }[] = [];
  for (const [index, each] of cases.entries()) {
    const last = parts.at(-1);
    const isFull =
      last === undefined || last.bytes + each.bytes > MAX_CALL_BYTES || last.cases.length >= MAX_CALL_CASES;
    if (isFull) parts.push({ at: index, cases: [each], bytes: each.bytes });
    else {
      last.cases.push(each);
      last.bytes += each.bytes;
    }
  }
  return parts;
}

function valuesOf({ cases }: Part): Readonly<Record<string, unknown>>[] {
  return cases.map(({ value }) => value);
}

function given(made: Eval | undefined): Eval {
  if (made === undefined) throw new ApiError({ status: 0, code: "internal", message: "no eval in the answer" });
  return made;
}
