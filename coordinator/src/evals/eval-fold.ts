/**
 * Makes rows of the log out of what batches said. Pure: no I/O, no clock.
 *
 * O1  A unit has at most one result that counts; later ones are observations.
 * O2  What failed outside of the assistant does not count while the unit may be tried again; its last try does.
 * O3  A device speaks for the units of its own batch only, and what it says about a case is its status, not its name.
 * O4  A unit whose batch ended without its result goes back to the queue, a bounded number of times.
 */

import { isObject, type Json } from "@mesh/kernel";

import type { UnitKey } from "./unit-store.ts";

/** How a result ended. */
export type ResultStatus = "passed" | "failed" | "error" | "timeout" | "skipped";

const STATUSES: readonly ResultStatus[] = ["passed", "failed", "error", "timeout", "skipped"];

/** Batches that may end without a unit's result before the unit is given up. */
export const MAX_LOSSES = 5;
/** Units that were lost so often travel alone: one of them may be what brings its batches down. */
export const ALONE_AFTER_LOSSES = 2;

/** Ends of runs that say nothing about the units or the device. */
const HARMLESS = new Set(["handed_back", "node_stopped", "queue_expired", "device_removed"]);
/** Ends that a device may have without being odd. */
const AWAY = new Set(["node_restarted", "not_accepted", "device_lost"]);
/** Ends that every device would come to: the bundle or the settings are wrong. */
const FINAL = new Set(["invalid_argument", "not_found"]);

/** An event of a batch. */
export interface FoldEvent {
  readonly run_id: string;
  readonly seq: number;
  readonly kind: string;
  readonly body: string;
}

/** A unit with its case. */
export interface FoldUnit extends UnitKey {
  readonly caseId: string;
  readonly hash: string;
  settled: boolean;
  /** The newest batch that has it. */
  runId: string | null;
  attempts: number;
  losses: number;
  /** Devices on which it was tried in this fold. */
  readonly tried: string[];
  /** Device whose result counted. */
  settledBy: string | undefined;
  changed: boolean;
}

/** A batch whose events are folded. */
export interface FoldBatch {
  readonly runId: string;
  readonly nodeId: string;
  readonly nodeName: string;
  readonly phase: "before" | "units" | "after";
  /** Keys of its units. */
  readonly units: ReadonlySet<string>;
  /** How its run ended; undefined while it runs, or while not all of its events are here. */
  readonly end: BatchEnd | undefined;
}

/** How a run ended. */
export interface BatchEnd {
  readonly state: string;
  readonly code: string;
  readonly message: string;
}

/** One row of the log to be. */
export interface NewResult extends UnitKey {
  readonly caseId: string;
  readonly status: ResultStatus;
  readonly nodeId: string;
  readonly runId: string;
  readonly attempt: number;
  readonly observation: boolean;
  readonly durationMs: number;
  /** JSON of the CaseResult. */
  readonly result: string;
  readonly usage: Readonly<Record<string, number>>;
}

/** What a device did in this fold, on top of what it did before. */
export interface NodeChange {
  infraErrors: number;
  /** After this fold. */
  infraInARow: number;
}

/** What comes of a fold. */
export interface Folded {
  readonly results: readonly NewResult[];
  readonly units: readonly FoldUnit[];
  readonly nodes: ReadonlyMap<string, NodeChange>;
  /** What BeforeAll gave, or how it failed. */
  readonly before: { readonly data: Json | undefined } | { readonly error: string } | undefined;
  readonly after: { readonly warning: string | undefined } | undefined;
  /** Batches that ended badly one after the other, with no result between them; after this fold. */
  readonly batchFailures: number;
  /** The newest of them, in words. */
  readonly lastFailure: string;
  /** Why no device can run the eval. */
  readonly impossible: string | undefined;
  /** Batches from which results came. */
  readonly progressed: ReadonlySet<string>;
}

/** What a fold starts from. */
export interface FoldInput {
  readonly retries: number;
  /** Where the eval has got to: batches of a phase that is over owe nothing. */
  readonly phase: string;
  readonly batchFailures: number;
  readonly batches: readonly FoldBatch[];
  readonly events: readonly FoldEvent[];
  readonly units: readonly FoldUnit[];
  /** Of each device that took part: infrastructure errors since its last result. */
  readonly infraInARow: ReadonlyMap<string, number>;
}

/** Names a unit within its eval. */
export function unitName({ ordinal, run, copy }: UnitKey): string {
  return `${ordinal}/${run}/${copy}`;
}

/** Folds events and ends; see the guarantees above. */
export function foldEval(input: FoldInput): Folded {
  const fold = new Fold(input);
  const batches = new Map(input.batches.map((batch) => [batch.runId, batch]));
  for (const event of input.events) {
    const batch = batches.get(event.run_id);
    if (batch !== undefined) fold.event(batch, event);
  }
  for (const batch of input.batches) if (batch.end !== undefined) fold.end(batch, batch.end);
  return fold;
}

class Fold implements Folded {
  readonly results: NewResult[] = [];
  readonly nodes = new Map<string, NodeChange>();
  readonly progressed = new Set<string>();
  readonly #input: FoldInput;
  readonly #units: ReadonlyMap<string, FoldUnit>;
  before: Folded["before"];
  after: Folded["after"];
  batchFailures: number;
  lastFailure = "";
  impossible: string | undefined;

  constructor(input: FoldInput) {
    this.#input = input;
    this.#units = new Map(input.units.map((unit) => [unitName(unit), unit]));
    this.batchFailures = input.batchFailures;
  }

  get units(): readonly FoldUnit[] {
    return this.#input.units.filter((unit) => unit.changed);
  }

  event(batch: FoldBatch, { kind, body }: FoldEvent): void {
    const said = parseObject(body);
    if (kind === "eval.before" && batch.phase === "before") {
      const { error } = said;
      this.before = typeof error === "string" ? { error } : { data: said["data"] as Json | undefined };
    } else if (kind === "eval.after" && batch.phase === "after") {
      const { warning } = said;
      this.after = { warning: typeof warning === "string" && warning !== "" ? warning : undefined };
    } else if (kind === "eval.result" && batch.phase === "units") {
      this.#result(batch, said);
    }
  }

  end(batch: FoldBatch, end: BatchEnd): void {
    const open = this.#input.units.filter((unit) => unit.runId === batch.runId && !unit.settled);
    const isWhole = end.state === "succeeded" && open.length === 0 && this.#said(batch);
    const isHarmless = isWhole || end.state === "cancelled" || HARMLESS.has(end.code);
    const message = end.message === "" ? `the batch ended as ${end.state} without a result` : end.message;
    if (!isHarmless && !AWAY.has(end.code)) {
      this.#blame(batch.nodeId);
      this.batchFailures += 1;
      this.lastFailure = `${batch.nodeName}: ${message}`;
      if (end.state === "failed" && FINAL.has(end.code)) this.impossible = this.lastFailure;
    }
    for (const unit of open) {
      unit.changed = true;
      unit.runId = null;
      if (isHarmless) continue;
      unit.losses += 1;
      if (unit.losses > MAX_LOSSES) this.#giveUp(unit, batch, message);
    }
  }

  #said(batch: FoldBatch): boolean {
    if (batch.phase === "units" || batch.phase !== this.#input.phase) return true;
    return (batch.phase === "before" ? this.before : this.after) !== undefined;
  }

  #result(batch: FoldBatch, said: Readonly<Record<string, unknown>>): void {
    const key = { ordinal: Number(said["ordinal"]), run: Number(said["run"]), copy: Number(said["copy"]) };
    const name = unitName(key);
    const unit = batch.units.has(name) ? this.#units.get(name) : undefined;
    const { result } = said;
    const status = isObject(result) ? STATUSES.find((each) => each === result["status"]) : undefined;
    if (unit === undefined || status === undefined || !isObject(result)) return;
    if (status === "error" && result["cause"] === "transport") {
      this.#blame(batch.nodeId);
      if (unit.settled || this.#triesAgain(unit, batch)) return;
    } else {
      this.#change(batch.nodeId).infraInARow = 0;
    }
    this.batchFailures = 0;
    this.progressed.add(batch.runId);
    const { device: _said, ...spoken } = result;
    const durationMs = Number(result["duration_ms"]);
    this.results.push({
      ...key,
      caseId: unit.caseId,
      status,
      nodeId: batch.nodeId,
      runId: batch.runId,
      attempt: unit.attempts,
      observation: unit.settled,
      durationMs: Number.isFinite(durationMs) ? Math.max(0, Math.round(durationMs)) : 0,
      result: JSON.stringify({ device: batch.nodeName, ...spoken, id: unit.caseId, run: key.run, hash: unit.hash }),
      usage: numbersOf(result["usage"]),
    });
    this.#settle(unit, batch.nodeId);
  }

  #triesAgain(unit: FoldUnit, batch: FoldBatch): boolean {
    if (unit.attempts >= this.#input.retries) return false;
    unit.attempts += 1;
    unit.tried.push(batch.nodeId);
    unit.changed = true;
    // Where it travels with another batch by now, that one is the next try.
    if (unit.runId === batch.runId) unit.runId = null;
    this.progressed.add(batch.runId);
    return true;
  }

  #giveUp(unit: FoldUnit, batch: FoldBatch, message: string): void {
    this.results.push(
      lostResult(unit, batch, `no device gave a result in ${MAX_LOSSES + 1} batches; the last one: ${message}`),
    );
    this.#settle(unit, batch.nodeId);
  }

  #settle(unit: FoldUnit, nodeId: string): void {
    if (unit.settled) return;
    unit.settled = true;
    unit.settledBy = nodeId;
    unit.changed = true;
  }

  #blame(nodeId: string): void {
    const change = this.#change(nodeId);
    change.infraErrors += 1;
    change.infraInARow += 1;
  }

  #change(nodeId: string): NodeChange {
    const known = this.nodes.get(nodeId);
    if (known !== undefined) return known;
    const change = { infraErrors: 0, infraInARow: this.#input.infraInARow.get(nodeId) ?? 0 };
    this.nodes.set(nodeId, change);
    return change;
  }
}

/** The result of a unit that no device gave one for. */
export function lostResult(
  unit: UnitKey & { readonly caseId: string; readonly hash: string; readonly attempts: number },
  on: { readonly nodeId: string; readonly nodeName: string; readonly runId: string },
  error: string,
): NewResult {
  const { ordinal, run, copy, caseId, hash, attempts } = unit;
  const result = {
    device: on.nodeName,
    id: caseId,
    run,
    status: "error",
    input: null,
    output: null,
    error,
    cause: "transport",
    duration_ms: 0,
    hash,
  };
  return {
    ordinal,
    run,
    copy,
    caseId,
    status: "error",
    nodeId: on.nodeId,
    runId: on.runId,
    attempt: attempts,
    observation: false,
    durationMs: 0,
    result: JSON.stringify(result),
    usage: {},
  };
}

const USAGE = ["prompt_tokens", "completion_tokens", "total_tokens", "cost_usd"] as const;

function numbersOf(usage: unknown): Readonly<Record<string, number>> {
  if (!isObject(usage)) return {};
  return Object.fromEntries(
    USAGE.flatMap((key) => {
      const value = usage[key];
      return typeof value === "number" && Number.isFinite(value) ? [[key, value] as const] : [];
    }),
  );
}

function parseObject(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
