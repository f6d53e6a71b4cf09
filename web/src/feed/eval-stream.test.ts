// @vitest-environment node
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";

import type { ApiError } from "../api/error.ts";
import { browserClock } from "../app/clock.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { until } from "../testing/until.ts";
import { EvalStream, type EvalEvent, readEvalEvent } from "./eval-stream.ts";

const open: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** Waits between tries take no time; the watch over a silent server stays. */
const clock = {
  ...browserClock,
  after: (ms: number, work: () => void) => browserClock.after(ms > 9_000 ? ms : Math.min(ms, 5), work),
};

async function follow(cases: number, id = "eval_1") {
  const mesh = new FakeMesh();
  const url = await mesh.listen();
  mesh.state.evals.add({ cases });
  const events: EvalEvent[] = [];
  const told: { end: number; refused: ApiError | undefined } = { end: 0, refused: undefined };
  const stream = new EvalStream(
    {
      clock,
      fetch: (path, init) => fetch(new URL(path, url), init),
      onEvent: (event) => events.push(event),
      onOnline: () => undefined,
      onAlive: () => undefined,
      onUnauthenticated: () => undefined,
      onEnd: () => (told.end += 1),
      onRefused: (problem) => (told.refused = problem),
    },
    id,
    0,
  );
  const done = stream.run();
  open.push(
    () => mesh.close(),
    () => stream.stop(),
  );
  const seqs = (): readonly number[] => events.flatMap((event) => (event.kind === "result" ? [event.result.seq] : []));
  return { mesh, events, seqs, told, done };
}

test("an eval that is cut at random points hands out every result once, in order, and ends", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), async (cuts) => {
      const { mesh, seqs, told, done, events } = await follow(cuts.length);
      await until("it is followed", () => mesh.evalFollowers === 1);
      for (const [ordinal, isCut] of cuts.entries()) {
        mesh.state.evals.result("eval_1", { ordinal });
        if (isCut) mesh.cut();
      }
      await until("all results", () => seqs().length >= cuts.length);
      mesh.state.evals.end("eval_1");
      await done;
      expect(seqs()).toEqual(cuts.map((_cut, index) => index + 1));
      expect(told.end).toBe(1);
      const last = events.filter((event) => event.kind === "eval").at(-1);
      // A stream that ended while it was cut is told by 204, and then the eval is not.
      if (last?.kind === "eval" && !cuts.at(-1)) expect(last.eval.state).toBe("ended");
    }),
    { numRuns: 10 },
  );
}, 60_000);

test("results come without what they said and did", async () => {
  const { mesh, events, seqs } = await follow(1);
  mesh.state.evals.result("eval_1", { ordinal: 0 });
  await until("the result", () => seqs().length === 1);
  const first = events.find((event) => event.kind === "result");
  expect(first?.kind === "result" && first.result.result).toEqual({
    id: "case-1",
    run: 1,
    status: "passed",
    hash: "h",
  });
});

test("an eval that is not there is refused once, with the reason, and not asked for again", async () => {
  const { told, done, mesh } = await follow(1, "eval_9");
  await done;
  expect(told.refused?.message).toBe("eval eval_9 was not found");
  expect(mesh.seen).toHaveLength(1);
});

test.each([
  ["no json", "result", "{"],
  ["no number", "result", '{"case_id":"a"}'],
  ["no eval", "eval", '{"state":"ended"}'],
  ["another kind", "end", '{"id":"e","state":"ended","seq":1,"case_id":"a"}'],
])("what is neither a result nor an eval is left alone: %s", (_name, event, data) => {
  expect(readEvalEvent({ id: "1", event, data })).toBeUndefined();
});
