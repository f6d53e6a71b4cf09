import fc from "fast-check";
import { expect, test } from "vitest";

import { BUNDLED_PRICES } from "./bundled-prices.ts";
import type { Usage } from "./message.ts";
import { costUsd, PriceBook, type PriceTable, ratesFor, readPriceTable } from "./price-book.ts";
import { callOf } from "./testing/index.ts";

const RATES = { input: 1, output: 10, cacheRead: 0.1, cacheWrite: 2 };
const TIERED = {
  ...RATES,
  tiers: [
    { above: 100, rates: { ...RATES, input: 5 } },
    { above: 200, rates: { ...RATES, input: 9 } },
  ],
};
const usage = (input: number, output = 0, cacheRead = 0, cacheWrite = 0): Usage => ({
  input,
  output,
  cacheRead,
  cacheWrite,
  totalTokens: 0,
});

test("a cost is the sum of its four parts, and null when the price is not known", () => {
  expect(costUsd(RATES, usage(1_000_000, 100_000, 1_000_000, 500_000))).toBeCloseTo(1 + 1 + 0.1 + 1);
  expect(costUsd(null, usage(5))).toBeNull();
  expect(costUsd({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, usage(5))).toBeNull();
  expect(costUsd(RATES, usage(0))).toBe(0);
});

test.each([
  [99, 1],
  [100, 1],
  [101, 5],
  [200, 5],
  [201, 9],
])("a prompt of %i tokens is in its tier", (prompt, input) => {
  expect(ratesFor(TIERED, prompt).input).toBe(input);
  expect(costUsd(TIERED, usage(0, 0, prompt))).toBeCloseTo((prompt * 0.1) / 1e6, 12);
});

test("a price that is only in a tier counts as a price", () => {
  const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  expect(costUsd({ ...free, tiers: [{ above: 10, rates: RATES }] }, usage(5))).toBe(0);
});

test("a cost is never negative and grows with usage", () => {
  const count = fc.nat(10_000_000);
  fc.assert(
    fc.property(count, count, count, count, (a, b, c, d) => {
      const cost = costUsd(RATES, usage(a, b, c, d))!;
      expect(cost).toBeGreaterThanOrEqual(0);
      expect(costUsd(RATES, usage(a + 1, b, c, d))!).toBeGreaterThanOrEqual(cost);
    }),
  );
});

const layer = (prices: PriceTable["prices"]): PriceTable => ({ verified: "2026-01-31", source: "test", prices });

test("the best layer that knows a model wins whole, and a price on the model itself stays", () => {
  const book = new PriceBook([layer({ p: { m: { ...RATES, input: 7 } } }), layer({ p: { m: TIERED, other: RATES } })]);
  expect(book.costOf("p", "m")).toEqual({ ...RATES, input: 7 });
  expect(book.costOf("p", "other")).toEqual(RATES);
  expect(book.costOf("gateway", "m")).toBeNull();
  expect(book.costOf("p", "m-20260131")).toEqual({ ...RATES, input: 7 });
  const { model } = callOf({ api: "demo", provider: "p", id: "m" }, []);
  expect(book.priced(model).cost).toMatchObject({ input: 7 });
  expect(book.priced({ ...model, cost: RATES }).cost).toBe(RATES);
});

test("nothing is priced without a book", () => {
  expect(callOf({ api: "demo" }, []).model.cost).toBeNull();
  expect(new PriceBook([]).costOf("anthropic", "claude-opus-5")).toBeNull();
});

test("the bundled prices are dated, sourced, and every one is complete", () => {
  expect(readPriceTable({ schema: 1, ...BUNDLED_PRICES }, "strict").table).toEqual(BUNDLED_PRICES);
  for (const [provider, models] of Object.entries(BUNDLED_PRICES.prices)) {
    for (const [id, cost] of Object.entries(models)) {
      for (const rates of [cost, ...(cost.tiers ?? []).map((tier) => tier.rates)]) {
        // A cached token that costs nothing would be an entry that nobody looked up.
        expect(
          Object.values({ ...rates, tiers: 1 }).every((rate) => rate > 0),
          `${provider} ${id}`,
        ).toBe(true);
        expect(rates.cacheRead, `${provider} ${id}`).toBeLessThanOrEqual(rates.input);
      }
    }
  }
});

test("a hand-written table is refused with all its mistakes at once; a fetched one ignores what it does not know", () => {
  const value = {
    schema: 1,
    verified: "2026-01-31",
    source: "me",
    extra: 1,
    prices: { p: { m: { ...RATES, audio: 3 }, bad: { input: -1, output: 1, cacheRead: Number.NaN } } },
  };
  expect(() => readPriceTable(value, "strict")).toThrow(
    /extra is not a known field.*m\.audio.*bad\.input.*bad\.cacheRead.*bad\.cacheWrite/s,
  );
  const { bad: _dropped, ...good } = value.prices.p;
  const read = readPriceTable({ ...value, prices: { p: good } }, "lenient");
  expect(read.ignored).toEqual(["extra", "prices.p.m.audio"]);
  expect(read.table.prices["p"]?.["m"]).toEqual(RATES);
  for (const broken of [null, [], { schema: 2 }])
    expect(() => readPriceTable(broken, "lenient")).toThrow("price table");
});
