/**
 * Would the checker notice a broken product? The coordinator's real fold runs on a small model of the stream, the tables and
 * two devices; each mutant breaks one rule of the product and must be found in the history.
 */

import type { NodeEvent } from "@mesh/proto";
import { expect, test } from "vitest";

import { foldBatch, type FoldRow, type IncomingRun } from "../../coordinator/src/runs/run-fold.ts";
import { isTerminal } from "../../coordinator/src/runs/run-state.ts";
import { checkHistory, type EventRow, type History, type JournaledEvent } from "./history.ts";

interface Batch {
  readonly runId: string;
  readonly node: string;
  readonly epoch: number;
  readonly events: readonly NodeEvent[];
}

interface Product {
  readonly fold: typeof foldBatch;
  /** Acknowledges a delivery, after which it does not come again, before or after the transaction. */
  readonly ackAfterCommit: boolean;
  /** Next seq of a run whose newest is `lastSeq`. */
  readonly nextSeq: (lastSeq: number, model: Model) => number;
}

const REAL: Product = { fold: foldBatch, ackAfterCommit: true, nextSeq: (lastSeq) => lastSeq + 1 };

type Row = { -readonly [K in keyof FoldRow]: FoldRow[K] } & { lastSeq: number; output: string };

/** Tables and transactions, as far as they matter here. */
class Model {
  readonly rows = new Map<string, Row>();
  readonly events: EventRow[] = [];
  readonly journals: JournaledEvent[] = [];
  readonly #product: Product;
  /** Transactions that fail from now on. */
  failures = 0;
  sequence = 0;

  constructor(product: Product) {
    this.#product = product;
  }

  place(runId: string, node: string): void {
    const row = this.rows.get(runId) ?? newRow(runId);
    this.rows.set(runId, row);
    const next = { lease_epoch: row.lease_epoch + 1, attempt: row.attempt + 1, committed_n: 0 };
    Object.assign(row, { node, state: "placed", ...next });
    this.#append(row, { kind: "run.placed", n: undefined });
  }

  /** What a device journaled travels until it is acknowledged. */
  deliver(batch: Batch): void {
    const { runId, node, epoch } = batch;
    this.journals.push(...batch.events.map(({ n }) => ({ runId, node, epoch, n })));
    for (let acked = false; !acked;) {
      acked = !this.#product.ackAfterCommit;
      try {
        this.#commit(batch);
        acked = true;
      } catch {
        // Delivered again, unless it was acknowledged.
      }
    }
  }

  history(): History {
    const runs = [...this.rows.values()].map((row) => ({
      runId: row.id,
      key: row.id,
      state: row.state,
      reason: "",
      epoch: row.lease_epoch,
      lastSeq: row.lastSeq,
      nodeId: row.node,
      output: row.output,
      error: undefined,
      count: 3,
    }));
    const none = { transitions: [], held: [], readers: [], creations: [], cancels: [], nodes: [], removals: [] };
    return { runs, events: this.events, journals: this.journals, ...none };
  }

  #commit(batch: Batch): void {
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the transaction was rolled back");
    }
    const row = this.rows.get(batch.runId);
    if (row === undefined) return;
    const incoming: IncomingRun = { parts: [batch] };
    const change = this.#product.fold(row, incoming);
    for (const event of change.events) this.#append(row, event);
    Object.assign(row, { state: change.state, committed_n: change.committedN });
    row.output = change.result?.output ?? row.output;
  }

  #append(row: Row, event: { readonly kind: string; readonly n: number | undefined; readonly body?: string }): void {
    const body = JSON.parse(event.body ?? "{}") as { text?: string; state?: string };
    row.lastSeq = this.#product.nextSeq(row.lastSeq, this);
    this.events.push({
      runId: row.id,
      seq: row.lastSeq,
      epoch: row.lease_epoch,
      n: event.n,
      kind: event.kind,
      atMs: 0,
      ...(body.text !== undefined && { text: body.text }),
      ...(event.kind === "run.finished" && { state: body.state ?? "" }),
    });
  }
}

function newRow(id: string): Row {
  const fixed = { id, on_lost: "replace", cancel_requested: false } as const;
  return { ...fixed, state: "queued", lease_epoch: 0, attempt: 0, committed_n: 0, node: "", lastSeq: 0, output: "" };
}

function nodeEvents(from: number, ...texts: readonly string[]): NodeEvent[] {
  return texts.map((text, i) => ({
    n: from + i,
    at_ms: 0,
    kind: text === "end" ? "run.finished" : "message",
    body: JSON.stringify(text === "end" ? { state: "succeeded", output: "1 2 3" } : { text }),
    delta_of: "",
  }));
}

/** A run is replaced while its first device still sends; batches are doubled; a transaction fails; another run goes by. */
function play(product: Product): readonly string[] {
  const model = new Model(product);
  model.place("run_a", "a");
  model.place("run_b", "b");
  model.deliver({ runId: "run_a", node: "a", epoch: 1, events: nodeEvents(1, "1") });
  model.deliver({ runId: "run_b", node: "b", epoch: 1, events: nodeEvents(1, "1") });
  model.place("run_a", "b");
  model.deliver({ runId: "run_a", node: "b", epoch: 2, events: nodeEvents(1, "1") });
  model.deliver({ runId: "run_a", node: "a", epoch: 1, events: nodeEvents(2, " 2 3", "end") });
  model.failures = 1;
  model.deliver({ runId: "run_b", node: "b", epoch: 1, events: nodeEvents(2, " 2", " 3") });
  model.deliver({ runId: "run_b", node: "b", epoch: 1, events: nodeEvents(2, " 2", " 3") });
  model.failures = 1;
  model.deliver({ runId: "run_a", node: "b", epoch: 2, events: nodeEvents(2, " 2", " 3") });
  for (const [runId, epoch] of [
    ["run_a", 2],
    ["run_b", 1],
  ] as const) {
    model.deliver({ runId, node: "b", epoch, events: nodeEvents(4, "end") });
    model.deliver({ runId, node: "b", epoch, events: nodeEvents(4, "end") });
  }
  return [...new Set(checkHistory(model.history()).map(({ invariant }) => invariant))];
}

test("the product itself keeps every promise", () => {
  expect(play(REAL)).toEqual([]);
});

test("mutant: without the epoch in the predicate, a stale device's events are found", () => {
  const fold: typeof foldBatch = (row, { parts }) =>
    foldBatch(row, { parts: parts.map((part) => ({ ...part, node: row.node, epoch: row.lease_epoch })) });
  expect(play({ ...REAL, fold })).toContain("I1");
});

test("mutant: an acknowledgement before the commit loses events, and the run is stuck", () => {
  expect(play({ ...REAL, ackAfterCommit: false })).toEqual(expect.arrayContaining(["I1", "I5"]));
});

test("mutant: seqs from one global sequence leave gaps in every log", () => {
  const nextSeq: Product["nextSeq"] = (_last, model) => (model.sequence += 1);
  expect(play({ ...REAL, nextSeq })).toContain("I4");
});

test("mutant: a fold that takes events again stores them twice", () => {
  const fold: typeof foldBatch = (row, incoming) => {
    const first = Math.min(...incoming.parts.flatMap(({ events }) => events.map(({ n }) => n)));
    return foldBatch({ ...row, committed_n: first - 1 }, incoming);
  };
  expect(play({ ...REAL, fold })).toContain("I1");
});

test("mutant: a fold that goes on after the end writes a second one", () => {
  const fold: typeof foldBatch = (row, incoming) =>
    isTerminal(row.state)
      ? foldBatch({ ...row, state: "running", committed_n: row.committed_n - 1 }, incoming)
      : foldBatch(row, incoming);
  expect(play({ ...REAL, fold })).toContain("I3");
});
