/** Reads results that are there, without following: for comparisons and reports. */

import type { Eval, EvalResult } from "@mesh/proto";

import { listEvalResults } from "../../api/evals.ts";
import { isRecord } from "../../api/error.ts";
import { addResults, EMPTY_LOG, type EvalLog } from "./eval-log.ts";

const BRIEF_PAGE = 1_000;
const FULL_PAGE = 50;

async function* pages(request: {
  readonly eval: string;
  readonly brief: boolean;
  readonly page_size: number;
}): AsyncGenerator<readonly EvalResult[]> {
  let after = 0;
  do {
    const { results, next_after_seq: next } = await listEvalResults({ ...request, after_seq: after });
    yield results;
    // A cursor that does not move would be read for ever.
    after = next > after ? next : 0;
  } while (after !== 0);
}

/** All results of an eval, small. */
export async function loadLog(id: string): Promise<EvalLog> {
  let log = EMPTY_LOG;
  for await (const results of pages({ eval: id, brief: true, page_size: BRIEF_PAGE })) log = addResults(log, results);
  return log;
}

/**
 * The log of an eval as a local eval writes it: one JSON object a line, first what was run, then each result that counts.
 * `onCount` is told how many results are read.
 */
export async function makeReport(known: Eval, onCount: (count: number) => void): Promise<Blob> {
  const { created_at: timestamp, assistant: agent_id, id, cases, suite, settings } = known;
  const connector = settings?.connector ?? "";
  const start = {
    type: "start",
    schema: 1,
    timestamp,
    agent_id,
    ...(connector === "" ? {} : { connector }),
    input: id,
    total_cases: cases,
    runs: Math.max(1, settings?.runs ?? 1),
    suite,
    environment: {},
    version: "",
  };
  const parts: BlobPart[] = [`${JSON.stringify(start)}\n`];
  let count = 0;
  for await (const results of pages({ eval: id, brief: false, page_size: FULL_PAGE })) {
    const counting = results.filter(({ observation }) => !observation);
    count += counting.length;
    // A blob a page: the browser keeps blobs outside of the page's memory.
    parts.push(new Blob(counting.map((result) => `${JSON.stringify(reportRow(result))}\n`)));
    onCount(count);
  }
  return new Blob(parts, { type: "application/x-ndjson" });
}

/** What is counted stands first, as in a local log. */
function reportRow({ case_id, run, status, duration_ms, node, result }: EvalResult): Readonly<Record<string, unknown>> {
  const { hash = "", usage, ...rest } = isRecord(result) ? result : {};
  const head = { type: "result", id: case_id, run, hash, status, duration_ms };
  const device = node === "" ? {} : { device: node };
  return { ...head, ...(usage === undefined ? {} : { usage }), ...rest, ...head, ...device };
}
