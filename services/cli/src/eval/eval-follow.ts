/** What a coordinator tells about an eval: its results as the local log has them, and how it is. */

import type { CaseResult, RemoteEnd, RemoteResult, RemoteStart, StartRow } from "@mesh/eval/local";
import { type Clock, isObject, type Json, MeshError } from "@mesh/kernel";
import type { Eval, EvalResult, GetEvalResponse, ListEvalCasesResponse, ListEvalResultsResponse } from "@mesh/proto";

import { apiPath, type Client } from "../client/client.ts";
import { followEvents } from "../client/event-stream.ts";

/** How to follow one. */
export interface EvalFollowOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly afterSeq?: number;
  readonly isPatient?: boolean;
  readonly onConnection?: (lost: MeshError | undefined) => void;
  /** Told when something else than a result has changed. */
  readonly onEval?: (state: Eval) => void;
}

const PAGE = 1000;

/** Results that count, until the eval has ended or the signal aborts. */
export async function* followResults(options: EvalFollowOptions): AsyncGenerator<RemoteResult> {
  const {
    client,
    clock,
    id,
    signal,
    afterSeq = 0,
    isPatient = false,
    onConnection = () => undefined,
    onEval,
  } = options;
  const { readResult } = await import("@mesh/eval/local");
  const source = { client, clock, path: apiPath`/v1/evals/${id}/results`, stateKind: "eval" };
  for await (const event of followEvents(source, { signal, afterSeq, isPatient, onConnection })) {
    if (event.kind === "eval") onEval?.(event as unknown as Eval);
    else if (event.kind === "result") yield* countedResult(event as unknown as EvalResult, readResult);
  }
}

/** All results that are there, page by page. */
export async function* storedResults(client: Client, id: string): AsyncGenerator<RemoteResult> {
  const { readResult } = await import("@mesh/eval/local");
  for (let after = 0; ;) {
    const page = await client.get<ListEvalResultsResponse>(apiPath`/v1/evals/${id}/results`, {
      query: { after_seq: after, page_size: PAGE },
    });
    for (const each of page.results) yield* countedResult(each, readResult);
    if (page.results.length === 0) return;
    after = page.next_after_seq;
  }
}

// One that came after another is kept by the coordinator, and no part of a report.
function* countedResult(
  { observation, ordinal, copy, node, result }: EvalResult,
  read: (value: Readonly<Record<string, unknown>>) => CaseResult | undefined,
): Generator<RemoteResult> {
  const whole = observation || !isObject(result) ? undefined : read(result);
  if (whole === undefined) return;
  const device = whole.device ?? node;
  yield { ordinal, result: { ...whole, ...(device === "" ? {} : { device }), ...(copy > 1 ? { copy } : {}) } };
}

/** One eval. */
export async function readEval(client: Client, id: string): Promise<Eval> {
  const answer = await client.get<GetEvalResponse>(apiPath`/v1/evals/${id}`);
  if (answer.eval === undefined) throw new MeshError("data_loss", `the coordinator told nothing about ${id}`);
  return answer.eval;
}

/** Its cases as they were written. */
export async function readCases(client: Client, id: string): Promise<readonly Json[]> {
  const all: Json[] = [];
  for (;;) {
    const page = await client.get<ListEvalCasesResponse>(apiPath`/v1/evals/${id}/cases`, {
      query: { at: all.length, page_size: PAGE },
    });
    if (page.cases.length === 0) return all;
    for (const each of page.cases) all.push(each);
  }
}

/** An eval that has begun. */
export function startOf({ id, suite, cases, settings, counts }: Eval): RemoteStart {
  const perCopy = cases * (settings?.runs ?? 1);
  const copies = perCopy === 0 ? 1 : Math.max(1, Math.round((counts?.total ?? 0) / perCopy));
  return { evalId: id, suite, copies };
}

/** How it ended. */
export function endOf(state: Eval, nowMs: number): RemoteEnd {
  const { total = 0, passed = 0, failed = 0, errors = 0, timeouts = 0, skipped = 0 } = state.counts ?? {};
  const startedMs = Date.parse(state.started_at ?? state.created_at);
  const finishedMs = state.finished_at === undefined ? nowMs : Date.parse(state.finished_at);
  return {
    isComplete: state.state === "ended" && total > 0 && passed + failed + errors + timeouts + skipped >= total,
    isCancelled: state.state === "cancelled",
    warnings: state.warnings,
    durationMs: Math.max(0, finishedMs - startedMs),
    ...(state.state === "failed" ? { error: state.reason } : {}),
  };
}

/** The first row of its log. */
export function startRowOf(state: Eval, version: string): StartRow {
  const { settings } = state;
  const { suite, copies, evalId } = startOf(state);
  return {
    type: "start",
    schema: 1,
    timestamp: state.started_at ?? state.created_at,
    agent_id: state.assistant,
    ...(settings === undefined || settings.connector === "" ? {} : { connector: settings.connector }),
    input: state.name === "" ? state.id : state.name,
    total_cases: state.cases,
    runs: settings?.runs ?? 1,
    eval_id: evalId,
    ...(copies > 1 ? { copies } : {}),
    suite,
    environment: {
      user_id: settings?.user || "test-user",
      team_id: settings?.team || "test-team",
      locale: settings?.locale || "en-us",
      client: { type: "test", ip: "127.0.0.1" },
      referer: "test",
      accept: "standard",
    },
    version,
  };
}
