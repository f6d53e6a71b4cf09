// @vitest-environment node
import { expect, test } from "vitest";

import { FakeState } from "../../testing/fake-state.ts";
import { fits, isFiltering, readFilter } from "./filter.ts";
import { type Lift, stepped } from "./lift.ts";

const state = new FakeState();
const tasks = Array.from({ length: 5 }, () => state.addTask());
const [a, b, c, d, e] = tasks;
if (a === undefined || b === undefined || c === undefined || d === undefined || e === undefined)
  throw new Error("no tasks");
const columns = state.board.columns;
const views = columns.map((column, index) => ({ column, cards: index === 0 ? [a, b, c] : index === 1 ? [d, e] : [] }));
const lift: Lift = { task: a, column: columns[0]?.id ?? "", index: 0, by: "keys" };

test("arrows move a lifted card within the places there are, and across columns", () => {
  expect(stepped(lift, "ArrowUp", views)?.index).toBe(0);
  expect(stepped(lift, "ArrowDown", views)?.index).toBe(1);
  // Two other cards: three places.
  expect(stepped({ ...lift, index: 2 }, "ArrowDown", views)?.index).toBe(2);
  expect(stepped(lift, "End", views)?.index).toBe(2);
  expect(stepped({ ...lift, index: 2 }, "ArrowRight", views)).toMatchObject({ column: columns[1]?.id, index: 2 });
  const empty = stepped({ ...lift, column: columns[1]?.id ?? "", index: 2 }, "ArrowRight", views);
  expect(empty).toMatchObject({ column: columns[2]?.id, index: 0 });
  expect(stepped(lift, "ArrowLeft", views)?.column).toBe(columns[0]?.id);
  expect(stepped(lift, "q", views)).toBeUndefined();
});

test("the filter in the address says what is shown; words only the server knows", () => {
  const filter = readFilter(new URLSearchParams("label=docs&priority=high"));
  expect(isFiltering(filter)).toBe(true);
  expect(fits(filter, { ...a, labels: ["docs"], priority: "high" })).toBe(true);
  expect(fits(filter, { ...a, labels: ["docs"], priority: "low" })).toBe(false);
  expect(fits(readFilter(new URLSearchParams("query=x")), a)).toBeUndefined();
  expect(fits(readFilter(new URLSearchParams()), { ...a, archived_at: "2026-01-01T00:00:00Z" })).toBe(false);
});
