import fc from "fast-check";
import { expect, test } from "vitest";

import { cycleThrough } from "./link-cycle.ts";

test("a circle is named from the task to itself", () => {
  const before = new Map([
    ["b", ["c"]],
    ["c", ["a"]],
  ]);
  expect(cycleThrough("a", ["b"], before)).toEqual(["a", "b", "c", "a"]);
  expect(cycleThrough("a", ["a"], new Map())).toEqual(["a", "a"]);
  expect(cycleThrough("d", ["b"], before)).toBeUndefined();
});

test("links that are only made when no circle closes never form one, and a named circle is real", () => {
  const edge = fc.tuple(fc.nat({ max: 7 }), fc.nat({ max: 7 }));
  fc.assert(
    fc.property(fc.array(edge, { maxLength: 60 }), (edges) => {
      const before = new Map<string, string[]>();
      for (const [from, to] of edges) {
        const task = `t${from}`;
        const wanted = [...(before.get(task) ?? []), `t${to}`];
        const cycle = cycleThrough(task, wanted, before);
        if (cycle === undefined) before.set(task, wanted);
        else {
          const all = new Map([...before, [task, wanted]]);
          for (const [i, id] of cycle.slice(0, -1).entries()) expect(all.get(id)).toContain(cycle[i + 1]);
          expect([cycle[0], cycle.at(-1)]).toEqual([task, task]);
        }
      }
      expect(isAcyclic(before)).toBe(true);
    }),
  );
});

function isAcyclic(before: ReadonlyMap<string, readonly string[]>): boolean {
  const rest = new Map([...before].map(([id, list]) => [id, new Set(list)]));
  for (;;) {
    const free = [...rest].filter(([, list]) => [...list].every((id) => !rest.has(id))).map(([id]) => id);
    if (free.length === 0) return rest.size === 0;
    for (const id of free) rest.delete(id);
  }
}
