import fc from "fast-check";
import { expect, test } from "vitest";

import { freshRanks, rankBetween } from "./rank.ts";

const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

test("whatever is moved where, the column has the order that the moves say, and no two cards share a place", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 200 }), (moves) => {
      const column = freshRanks(5).map((rank, i) => ({ id: i, rank }));
      for (const [from, to] of moves) {
        const [card] = column.splice(from % column.length, 1);
        if (card === undefined) throw new Error("no card");
        const place = to % (column.length + 1);
        card.rank = rankBetween(column[place - 1]?.rank ?? null, column[place]?.rank ?? null);
        column.splice(place, 0, card);
      }
      const ranks = column.map(({ rank }) => rank);
      expect(ranks.toSorted(byBytes)).toEqual(ranks);
      expect(new Set(ranks).size).toBe(ranks.length);
    }),
  );
});

test("anchors in the wrong order are refused", () => {
  const [first = "", second = ""] = freshRanks(2);
  expect(() => rankBetween(second, first)).toThrow("read the column again");
  expect(() => rankBetween(first, first)).toThrow("read the column again");
});
