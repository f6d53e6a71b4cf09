// @vitest-environment node
import fc from "fast-check";
import { expect, test } from "vitest";

import { FakeState, rankOf } from "../../testing/fake-state.ts";
import { anchorsOf, cardsOf, type ColumnData, totalOf, withCard, withCardAt, withoutCard } from "./column-cards.ts";

function column(count: number, more = ""): ColumnData {
  const state = new FakeState();
  const tasks = Array.from({ length: count }, () => state.addTask());
  return {
    pages: [{ tasks, next_cursor: more, total: count + (more === "" ? 0 : 10), feed_seq: 0 }],
    pageParams: [""],
  };
}

const ids = (data: ColumnData): string[] => cardsOf(data).map(({ id }) => id);

test("C1 whatever changes come, cards are in the order of their ranks and there once", () => {
  const change = fc.record({
    n: fc.integer({ min: 1, max: 12 }),
    rank: fc.integer({ min: 0, max: 20 }),
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      let data = column(8);
      const state = new FakeState();
      const tasks = Array.from({ length: 12 }, () => state.addTask());
      for (const [at, { n, rank, isGone }] of changes.entries()) {
        const task = tasks[n - 1];
        if (task === undefined) throw new Error("no task");
        data = isGone
          ? withoutCard(data, task.id)
          : withCard(data, { ...task, rank: rankOf(rank + n / 100), revision: at + 2 });
      }
      const ranks = cardsOf(data).map(({ rank }) => rank);
      expect(ranks).toEqual([...ranks].sort());
      expect(new Set(ids(data)).size).toBe(ids(data).length);
      expect(totalOf(data)).toBe(ids(data).length);
    }),
  );
});

test("C2 a card below the last loaded one counts and is not shown", () => {
  const data = column(3, "cursor");
  const far = new FakeState().addTask({ id: "task_far", rank: rankOf(99) });
  const next = withCard(data, far);
  expect(ids(next)).toEqual(ids(data));
  expect(totalOf(next)).toBe(totalOf(data) + 1);
});

test("C3 an older revision changes nothing", () => {
  const data = column(3);
  const [first] = cardsOf(data);
  if (first === undefined) throw new Error("no card");
  const newer = withCard(data, { ...first, title: "New", revision: 5 });
  expect(withCard(newer, { ...first, title: "Old", revision: 4 })).toBe(newer);
  expect(cardsOf(newer)[0]?.title).toBe("New");
});

test("a place among the other cards names its neighbour, and putting the card there gives that order", () => {
  const data = column(4);
  const cards = cardsOf(data);
  const [first] = cards;
  if (first === undefined) throw new Error("no card");
  expect(anchorsOf(cards, first.id, 0)).toEqual({ before: "task_2" });
  expect(anchorsOf(cards, first.id, 2)).toEqual({ after: "task_3" });
  expect(anchorsOf(cards, first.id, 3)).toEqual({ after: "task_4" });
  expect(anchorsOf([], "task_9", 0)).toEqual({});
  expect(ids(withCardAt(data, first, 2))).toEqual(["task_2", "task_3", "task_1", "task_4"]);
});

test("a change in 2,000 cards costs little more than in 200", () => {
  const cost = (data: ColumnData): number => {
    const state = new FakeState();
    const task = { ...state.addTask(), id: "task_new" };
    const start = performance.now();
    for (let n = 0; n < 200; n += 1) withCard(data, { ...task, rank: rankOf(n), revision: n + 2 });
    return (performance.now() - start) / 200;
  };
  const large = column(2_000);
  cost(large);
  expect(cost(large)).toBeLessThan(5);
});
