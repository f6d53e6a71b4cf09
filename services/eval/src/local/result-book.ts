/**
 * The results of an eval: in its log, in its totals, with whoever watches.
 *
 * B1  A result is written before it is shown.
 * B2  Going on with a log is for the same cases: what was run is not run again, what was changed is refused.
 */

import { createHash } from "node:crypto";
import { join } from "node:path";

import { MeshError, rfc3339 } from "@mesh/kernel";

import { LogFile, logRows, readLogState, runKey } from "../report/log-file.ts";
import type { StartRow } from "../report/log-row.ts";
import type { CaseResult } from "../result.ts";
import type { CaseUnit } from "../run/case-run.ts";
import { identityOf } from "../run/identity.ts";
import type { SessionObserver } from "../run/session.ts";
import { type Summary, Tally } from "../stat/tally.ts";
import type { PreparedCases, PreparedEval } from "./prepare.ts";

/** See the file comment. */
export interface ResultBook {
  readonly observer: SessionObserver;
  readonly tally: Tally;
  readonly start: StartRow;
  /** Time that was spent before a break. */
  readonly durationMs: number;
  readonly isDone: (unit: CaseUnit) => boolean;
  results(): Promise<readonly CaseResult[]>;
  /** Writes the totals, the last row. */
  end(summary: Summary): void;
}

/** Opens the log of that path, if there is one, new or to go on with. */
export async function openBook(
  run: PreparedEval,
  prepared: PreparedCases,
  path: string | undefined,
): Promise<ResultBook> {
  const { request, deps } = run;
  const tally = new Tally();
  const start = startRow(run, prepared);
  const done = new Map<string, string>();
  let durationMs = 0;
  const isResumed = request.resume !== undefined && path !== undefined;
  if (isResumed) {
    const state = await readLogState(path, (row) => tally.add(row));
    requireSameSuite(state.done, prepared, { path, runs: request.runs });
    for (const [key, hash] of state.done) done.set(key, hash);
    ({ durationMs } = state);
  }
  const log =
    path === undefined ? undefined : isResumed ? LogFile.append(path, deps.clock) : LogFile.create(path, deps.clock);
  log?.write(isResumed ? { type: "resume", timestamp: start.timestamp } : start);
  const kept: CaseResult[] = [];
  const left = new Map<string, number>();
  const observer = observerOf(run, tally, left, (result) => {
    if (log === undefined) kept.push(result);
    else log.write({ type: "result", ...result });
  });
  return {
    observer,
    tally,
    start,
    durationMs,
    isDone: ({ test, run: number }) => done.has(runKey(test.id, number)),
    results: async () => (path === undefined ? kept : resultsIn(path)),
    end: (summary) => {
      log?.write({ type: "summary", timestamp: rfc3339(deps.clock.now()), ...summary });
      log?.close();
    },
  };
}

function observerOf(
  { request, deps }: PreparedEval,
  tally: Tally,
  counts: Map<string, number>,
  keep: (result: CaseResult) => void,
): SessionObserver {
  const { reporter } = deps;
  return {
    onStart: (unit) => reporter.onStart?.(unit),
    onTurn: (id, turn) => reporter.onTurn?.(id, turn),
    onLog: (id, text) => reporter.onLog?.(id, text),
    onResult: (result, unit) => {
      keep(result);
      tally.add(result);
      reporter.onResult(result, unit);
      if (request.runs <= 1) return;
      const seen = (counts.get(result.id) ?? 0) + 1;
      counts.set(result.id, seen);
      const whole = tally.case(result.id);
      if (whole !== undefined && whole.runs >= request.runs) reporter.onCase(whole);
    },
  };
}

/** The first row of its log. */
export function startRow({ request, deps, target, identity }: PreparedEval, { cases }: PreparedCases): StartRow {
  const { userId, teamId, locale, client } = identityOf({ run: 1 }, identity);
  const suite = createHash("sha256");
  for (const test of cases) suite.update(`${test.id}\u0000${test.hash}\n`);
  return {
    type: "start",
    schema: 1,
    timestamp: rfc3339(deps.clock.now()),
    agent_id: target.agentId,
    agent_path: join(target.root, "assistants", ...target.agentId.split(".")),
    ...(request.connector === undefined ? {} : { connector: request.connector }),
    input: request.inputText,
    total_cases: cases.length,
    runs: request.runs,
    suite: suite.digest("hex").slice(0, 16),
    environment: {
      user_id: userId,
      team_id: teamId,
      locale,
      client: client ?? {},
      referer: "test",
      accept: "standard",
    },
    version: deps.version,
  };
}

/** Going on is for the same cases: one that was changed would be two cases under one id. */
function requireSameSuite(
  done: ReadonlyMap<string, string>,
  { cases }: PreparedCases,
  { path, runs }: { readonly path: string; readonly runs: number },
): void {
  const changed = new Set<string>();
  for (const { id, hash } of cases) {
    for (let run = 1; run <= runs; run += 1) {
      const before = done.get(runKey(id, run));
      if (before !== undefined && before !== hash) changed.add(id);
    }
  }
  if (changed.size === 0) return;
  const ids = [...changed].slice(0, 10).join(", ");
  throw new MeshError(
    "failed_precondition",
    `${path} has results of cases that were changed since: ${ids}${changed.size > 10 ? ", …" : ""}; start anew without --resume`,
  );
}

async function resultsIn(path: string): Promise<readonly CaseResult[]> {
  const results: CaseResult[] = [];
  for await (const row of logRows(path)) {
    if (row.type !== "result") continue;
    const { type: _type, ...result } = row;
    results.push(result);
  }
  return results;
}
