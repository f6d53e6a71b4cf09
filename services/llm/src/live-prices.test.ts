import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { BUNDLED_PRICES } from "./bundled-prices.ts";
import { fetchPrices, modelsDevPrices } from "./live-prices.ts";

const FACTS = { source: "test", verified: "2026-01-31" };
const LIST = {
  anthropic: {
    models: {
      "claude-new": {
        cost: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, context_over_200k: { input: 6, output: 22 } },
      },
      "claude-opus-5": { cost: { input: 1, output: 2 } },
    },
  },
  alibaba: { models: { q: { cost: { input: 1, output: 2, reasoning: 2, input_audio: 9 } } } },
  odd: {
    models: {
      a: { cost: { input: 1, output: 2, per_image: 3 } },
      b: { cost: { input: 1, output: 2, reasoning: 8 } },
      c: { cost: { input: -1, output: 2 } },
      free: {},
    },
  },
};

test("a list is mapped to our names; a cache rate that is not listed is the fresh one, never zero", () => {
  const { table, skipped } = modelsDevPrices(LIST, FACTS);
  expect(table.prices["qwen"]?.["q"]).toEqual({ input: 1, output: 2, cacheRead: 1, cacheWrite: 1 });
  expect(table.prices["anthropic"]?.["claude-new"]).toEqual({
    input: 3,
    output: 15,
    cacheRead: 0.3,
    cacheWrite: 3.75,
    tiers: [{ above: 200_000, rates: { input: 6, output: 22, cacheRead: 6, cacheWrite: 6 } }],
  });
  expect(skipped).toEqual(["odd/a", "odd/b", "odd/c"]);
});

test("a fetched price wins over the bundled one, entry by entry", async () => {
  const clock = new FakeClock(Date.UTC(2026, 0, 31));
  const made = await fetchPrices({ clock, fetch: async () => Response.json(LIST) });
  expect(made).toMatchObject({ origin: "fetched" });
  expect(made.book.costOf("anthropic", "claude-opus-5")).toMatchObject({ input: 1 });
  expect(made.book.costOf("openai", "gpt-5")).toEqual(BUNDLED_PRICES.prices["openai"]?.["gpt-5"]);
});

test.each<[string, () => Promise<Response>]>([
  ["no connection", () => Promise.reject(new TypeError("fetch failed"))],
  ["a failure", async () => new Response("", { status: 500 })],
  ["a web page", async () => new Response("<html>")],
  ["an empty list", async () => Response.json({})],
])("%s leaves the bundled prices and says why", async (_what, send) => {
  const made = await fetchPrices({ clock: new FakeClock(), fetch: send });
  expect(made).toMatchObject({ origin: "bundled", problem: expect.stringContaining("could not be fetched") });
  expect(made.book.costOf("anthropic", "claude-opus-5")).toMatchObject({ input: 5 });
});

test("a server that never answers is left after a while", async () => {
  const clock = new FakeClock();
  const made = fetchPrices({
    clock,
    fetch: (_url, init) =>
      new Promise((_resolve, reject) =>
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error)),
      ),
  });
  await clock.advance(20_000);
  expect(await made).toMatchObject({ origin: "bundled", problem: expect.stringContaining("no answer in time") });
});
