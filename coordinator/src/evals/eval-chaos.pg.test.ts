/** Leaders that die in the middle of steps, two at once, and devices that lose, repeat and crash: still one result per unit. */

import type { Store } from "@mesh/store";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { StoredEvalPlacement } from "./eval-row.ts";
import { allUnits, type EvalFixture, type PlayedBatch, startEvals, unitsOf } from "./testing/eval-fixture.ts";

/** Says whether the leader dies before it commits. */
let dies: () => boolean = () => false;

/** A store whose transactions are cut off, after all of their statements, when `dies` says so. */
function mortal(store: Store): Pick<Store, "sql"> {
  const sql = new Proxy(store.sql, {
    get(target, name, receiver): unknown {
      if (name !== "begin") return Reflect.get(target, name, receiver) as unknown;
      return (work: (tx: unknown) => Promise<unknown>) =>
        target.begin(async (tx) => {
          const result = await work(tx);
          if (dies()) throw new Error("the leader died");
          return result;
        });
    },
  });
  return { sql };
}

let deaths = 0;
let evals: EvalFixture;
beforeEach(async () => {
  evals = await startEvals(mortal);
});
afterEach(() => evals[Symbol.asyncDispose]());

const NODES = ["a", "b", "c"] as const;
const ACTIONS = [
  "some",
  "all",
  "again",
  "transport",
  "crash",
  "lose",
  "empty",
  "offline",
  "online",
  "leader",
  "drain",
] as const;

interface Move {
  readonly act: (typeof ACTIONS)[number];
  readonly pick: number;
  readonly isKilled: boolean;
}

async function move({ act, pick }: Move): Promise<void> {
  const batches = await evals.batches();
  const batch = batches[pick % Math.max(1, batches.length)];
  const node = NODES[pick % NODES.length] ?? "a";
  if (act === "offline" || act === "online") return evals.setOnline(node, act === "online");
  if (act === "drain") {
    await evals.store.sql`UPDATE nodes SET draining = NOT draining WHERE name = ${node}`;
    return;
  }
  if (act === "leader") {
    await Promise.all([evals.scheduler.look(), evals.scheduler.look(), evals.scheduler.look()]);
    return;
  }
  if (batch !== undefined) await device(batch, act, pick);
}

async function device(batch: PlayedBatch, act: Move["act"], pick: number): Promise<void> {
  const at = pick % Math.max(1, batch.units.length);
  switch (act) {
    case "some":
      return evals.say(batch, at, pick % 3 === 0 ? { status: "failed" } : {});
    case "again":
      await evals.say(batch, at);
      return evals.say(batch, at, { status: "failed" });
    case "transport":
      return evals.say(batch, at, { status: "error", cause: "transport", error: "reset" });
    case "crash":
      return evals.end(batch, "failed", "runner_crashed", "SIGKILL");
    case "lose":
      return evals.end(batch, "lost", "device_lost", "gone");
    case "empty":
      return evals.end(batch);
    default:
      return evals.finish(batch);
  }
}

const MODES: readonly Partial<StoredEvalPlacement>[] = [
  { mode: "spread" },
  { mode: "sticky" },
  { mode: "mirror", copies: 2 },
  { mode: "each" },
];

test.each(MODES)("every unit has exactly one result that counts, whatever dies ($mode)", async (placement) => {
  const moves = fc.array(fc.record({ act: fc.constantFrom(...ACTIONS), pick: fc.nat(1000), isKilled: fc.boolean() }), {
    minLength: 10,
    maxLength: 40,
  });
  for (const name of NODES) await evals.addNode(name);
  const property = fc.asyncProperty(moves, async (all) => {
    dies = () => false;
    await calm();
    const id = await evals.start({ cases: 15, placement, settings: { runs: 2, retries: 1 } });
    for (const each of all) {
      // Every second step, so that what one leader began another one goes on with.
      dies = () => each.isKilled && (deaths += 1) % 2 === 1;
      await evals.turn();
      await move(each);
    }
    dies = () => false;
    await calm();
    await evals.play(id);
    if ((await evals.get(id)).state === "failed") {
      await evals.resume(id);
      await evals.play(id);
    }
    await expectWhole(id, placement);
  });
  await fc.assert(property, { numRuns: 12, endOnFailure: true });
  expect(deaths).toBeGreaterThan(0);
});

async function calm(): Promise<void> {
  await evals.store.sql`UPDATE nodes SET draining = false`;
  for (const name of NODES) await evals.setOnline(name, true);
  // Nothing of an earlier eval holds a slot.
  await evals.store.sql`DELETE FROM evals WHERE state NOT IN ('running', 'cancelling')`;
}

async function expectWhole(id: string, { mode, copies = 1 }: Partial<StoredEvalPlacement>): Promise<void> {
  const now = await evals.get(id);
  const results = await evals.results(id);
  expect(now.state).toBe("ended");
  expect(unitsOf(results.filter(({ observation }) => !observation))).toEqual(
    allUnits(15, 2, mode === "each" ? NODES.length : copies),
  );
  expect(results.map(({ seq }) => seq)).toEqual(results.map((_, i) => i + 1));
  const counted = (status: string): number => results.filter((row) => !row.observation && row.status === status).length;
  expect([now.passed, now.failed, now.errors]).toEqual(["passed", "failed", "error"].map(counted));
  expect([now.last_seq, now.observations]).toEqual([
    results.length,
    results.filter(({ observation }) => observation).length,
  ]);
  const rows = await evals.store.sql<{ passed: number; failed: number; errors: number }[]>`
    SELECT sum(passed)::int AS passed, sum(failed)::int AS failed, sum(errors)::int AS errors FROM eval_nodes WHERE eval_id = ${id}`;
  expect(rows[0]).toEqual({ passed: now.passed, failed: now.failed, errors: now.errors });
}
