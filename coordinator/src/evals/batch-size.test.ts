import fc from "fast-check";
import { expect, test } from "vitest";

import { MAX_BATCH_UNITS, planSizes, type Room, type SizeRules } from "./batch-size.ts";

const rules = (part: Partial<SizeRules>): SizeRules => ({
  open: 100,
  slots: 4,
  parallel: 1,
  isFailFast: false,
  batches: Infinity,
  ...part,
});
const rooms = (...free: number[]): Room[] => free.map((each, i) => ({ nodeId: `n${i}`, slots: each, free: each }));

test("batches are half a slot's share of what is left: large at first, one at the end", () => {
  expect(planSizes(rooms(2, 2), rules({ open: 80 }))).toEqual(
    new Map([
      ["n0", [10, 8]],
      ["n1", [9, 7]],
    ]),
  );
  expect(planSizes(rooms(2, 2), rules({ open: 3 }))).toEqual(
    new Map([
      ["n0", [1, 1]],
      ["n1", [1]],
    ]),
  );
});

test("a batch has at most 64 units, and as many as run at once while there are enough for all slots", () => {
  expect(planSizes(rooms(1), rules({ open: 10_000 })).get("n0")).toEqual([MAX_BATCH_UNITS]);
  expect(planSizes(rooms(1), rules({ open: 32, parallel: 8 })).get("n0")).toEqual([8]);
  expect(planSizes(rooms(1), rules({ open: 8, parallel: 8 })).get("n0")).toEqual([2]);
});

test("failing fast, no unit waits in a batch", () => {
  expect(planSizes(rooms(2), rules({ open: 100, parallel: 3, isFailFast: true })).get("n0")).toEqual([3, 3]);
});

test("never more units than are open, batches than are allowed, or batches on a device than it has room for", () => {
  fc.assert(
    fc.property(
      fc.record({
        free: fc.array(fc.nat(6), { maxLength: 8 }),
        open: fc.nat(5000),
        parallel: fc.integer({ min: 1, max: 64 }),
        batches: fc.nat(20),
        isFailFast: fc.boolean(),
      }),
      ({ free, open, parallel, batches, isFailFast }) => {
        const slots = free.reduce((sum, each) => sum + each, 0);
        const sizes = planSizes(rooms(...free), { open, slots, parallel, isFailFast, batches });
        const all = [...sizes.values()].flat();
        expect(all.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(open);
        expect(all.length).toBeLessThanOrEqual(Math.min(batches, slots));
        expect(all.every((each) => each >= 1 && each <= MAX_BATCH_UNITS)).toBe(true);
        for (const [i, each] of free.entries()) expect(sizes.get(`n${i}`)?.length ?? 0).toBeLessThanOrEqual(each);
        // While there is work for all, nobody idles.
        if (!isFailFast && open >= slots) expect(all.length).toBe(Math.min(batches, slots));
      },
    ),
  );
});
