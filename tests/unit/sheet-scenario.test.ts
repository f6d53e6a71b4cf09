/** The scenarios of the robustness sheet, as `npm run sheet` plays them for every library: ours must pass each of them. */

import { describe, expect, test } from "vitest";

import { ourLibrary } from "../sheet/scenario/our-library.ts";
import { canPlay, playScenario, SCENARIOS } from "../sheet/scenario/play.ts";
import { scenarioFaults, type Seen } from "../sheet/scenario/scenario.ts";

const rows = SCENARIOS.map((scenario) => [scenario.row, scenario.title, scenario] as const);

describe("public report", () => {
  test.each(rows)("#%i: %s", async (_row, _title, scenario) => {
    expect(canPlay(ourLibrary, scenario)).toBe(true);
    expect(await playScenario(ourLibrary, scenario)).toEqual([]);
  });

  test.each(rows)("#%i: a library that does nothing does not pass", (_row, _title, scenario) => {
    const nothing: Seen = { requests: [], done: [], history: [], ends: [], facts: { before: [] } };
    expect(scenarioFaults(scenario, nothing)).not.toEqual([]);
  });
});

test("every report about the loop and its requests is a scenario", () => {
  expect(SCENARIOS.map((scenario) => scenario.row)).toEqual([1, 2, 7, 13, 14, 19, 20, 22, 23, 25, 26, 29, 34]);
});
