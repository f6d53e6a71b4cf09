import { expect, test } from "vitest";

import { isId, systemIds, ulidOf } from "./ids.ts";

test("ids are unique and sorted by creation, also within one millisecond and when the clock goes back", () => {
  let now = 1_700_000_000_000;
  const ids = systemIds(() => now);
  const made = Array.from({ length: 5000 }, (_, i) => {
    if (i === 1000) now += 1;
    if (i === 3000) now -= 60_000;
    return ids.next("run");
  });
  expect(made).toEqual(made.toSorted());
  expect(new Set(made).size).toBe(made.length);
});

test("an id is recognized by kind and shape", () => {
  const id = systemIds().next("node");
  expect(isId("node", id)).toBe(true);
  expect(isId("run", id)).toBe(false);
  expect(isId("node", id.toUpperCase())).toBe(false);
  expect(isId("node", `${id}x`)).toBe(false);
  expect(isId("node", "node_'; DROP TABLE nodes; --aaaa")).toBe(false);
});

test("the ULID part has 26 characters", () => {
  expect(ulidOf(systemIds().next("ws"))).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
});
