/** The guide of data models tells the truth: its files load, its commands print what it says. */

import { afterAll, beforeAll, expect, test } from "vitest";

import { guideCommands, guideFiles, printed, runOptions } from "./guide-app.ts";
import { SpecApp } from "./spec-app.ts";

const GUIDE = "models.md";
let app: SpecApp;

beforeAll(async () => {
  app = await SpecApp.open(guideFiles(GUIDE));
});

afterAll(() => app?.[Symbol.asyncDispose]());

test("its files load without a finding", () => {
  expect(app.app.problems).toEqual([]);
});

// One after the other: a command sees what those before it wrote.
test.each(guideCommands(GUIDE))("$command", async (command) => {
  expect(printed(await app.run(command.assistant, command.input, runOptions(command)))).toBe(command.prints);
});
