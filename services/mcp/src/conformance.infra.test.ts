/** The official suite: what passes stays passing. docs/mcp-conformance.md has the whole table. */

import { expect, test } from "vitest";

import { runClientSuite, runServerSuite } from "./testing/conformance-suite.ts";

test("our server passes every scenario of the official suite", { timeout: 180_000 }, async () => {
  const results = await runServerSuite();
  expect(results.length).toBeGreaterThanOrEqual(30);
  expect(results.filter(({ failed }) => failed > 0)).toEqual([]);
});

test("our client passes the scenarios that are not about OAuth or elicitation", { timeout: 180_000 }, async () => {
  const results = await runClientSuite();
  const passing = results.filter(({ failed }) => failed === 0).map(({ scenario }) => scenario);
  expect(passing.toSorted()).toEqual(["initialize", "sse-retry", "tools_call"]);
});
