/**
 * Runs a batch of any phase on a host, and tells what comes of it as events.
 *
 * Units give their results as they end; the hooks around the eval give what they returned, or how they failed. Rejects only when the
 * batch itself could not run.
 */

import { type Clock, type JsonObject, MeshError } from "@mesh/kernel";

import type { EvalHost, FunctionRef } from "../host.ts";
import { loadError } from "../load/problem.ts";
import { resolveNames } from "../local/resolve-name.ts";
import { type AroundSettings, callAfterAll, callBeforeAll, hookLookup } from "../run/session.ts";
import type { EvalBatch, FleetSettings } from "./batch.ts";
import { aroundEvent, type BatchEvent, resultEvent } from "./result-event.ts";
import { runBatch } from "./run-batch.ts";

/** What a batch runs with. */
export interface ExecuteDeps {
  readonly host: EvalHost;
  readonly clock: Clock;
  /** Where the files of cases lie. */
  readonly baseDir: string;
  readonly emit: (event: BatchEvent) => void;
}

/** See the file comment. */
export async function executeBatch(batch: EvalBatch, deps: ExecuteDeps, signal: AbortSignal): Promise<void> {
  const { settings } = batch;
  requireAgent(settings, deps.host);
  switch (batch.phase) {
    case "units": {
      const { host, clock, baseDir, emit } = deps;
      const onResult: Parameters<typeof runBatch<(typeof batch.units)[number]>>[2]["onResult"] = (result, unit) =>
        emit(resultEvent(unit, result));
      await runBatch(batch.units, { ...settings, baseDir }, { host, clock, onResult }, signal);
      return;
    }
    case "before":
      await before(batch, deps, signal);
      return;
    case "after":
      await after(batch, deps);
  }
}

async function before(
  { cases: list, settings }: Extract<EvalBatch, { phase: "before" }>,
  deps: ExecuteDeps,
  signal: AbortSignal,
): Promise<void> {
  const around = await aroundOf(settings, deps.host);
  const { data, error } = await callBeforeAll(
    list.map((raw) => ({ raw })),
    around,
    aroundDeps(deps),
    signal,
  );
  if (signal.aborted) return;
  const told: JsonObject = { ...(data === undefined ? {} : { data }), ...(error === undefined ? {} : { error }) };
  deps.emit(aroundEvent("eval.before", told));
}

async function after(
  { results, data, settings }: Extract<EvalBatch, { phase: "after" }>,
  deps: ExecuteDeps,
): Promise<void> {
  const around = await aroundOf(settings, deps.host);
  const warning = await callAfterAll(data, around, { ...aroundDeps(deps), results: () => Promise.resolve(results) });
  deps.emit(aroundEvent("eval.after", warning === undefined ? {} : { warning }));
}

function aroundDeps({ host, clock }: ExecuteDeps): Parameters<typeof callBeforeAll>[2] {
  return { host, clock, observer: {} };
}

async function aroundOf(settings: FleetSettings, host: EvalHost): Promise<AroundSettings> {
  const { agentId, identity, timeoutMs, beforeAll, afterAll } = settings;
  const global = [
    ...(beforeAll === undefined ? [] : [{ flag: "--before", name: beforeAll }]),
    ...(afterAll === undefined ? [] : [{ flag: "--after", name: afterAll }]),
  ];
  const { hooks, problems } = await resolveNames([], { agentId, global }, host);
  if (problems.length > 0) throw loadError(problems);
  const refOf: (name: string) => FunctionRef = hookLookup(hooks);
  return {
    agentId,
    identity,
    timeoutMs,
    ...(beforeAll === undefined ? {} : { beforeAll: refOf(beforeAll) }),
    ...(afterAll === undefined ? {} : { afterAll: refOf(afterAll) }),
  };
}

function requireAgent({ agentId }: FleetSettings, { app }: EvalHost): void {
  if (app.assistants.has(agentId)) return;
  const known = [...app.assistants.keys()].slice(0, 10).join(", ");
  throw new MeshError("not_found", `the app has no assistant "${agentId}"; it has ${known === "" ? "none" : known}`);
}
