/** Public apps that nobody here wrote: all of their assistants load, and what is said about them was reviewed. */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { readAppDirectory } from "./app-directory.ts";
import { bundleApp, readBundle } from "./bundle.ts";
import { loadApp } from "./load-app.ts";
import { show } from "./testing/app-of.ts";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../shared");
const corpus = join(shared, "corpus");
const isPresent = existsSync(corpus);
if (!isPresent)
  console.warn(`skipped: the public apps are not at ${corpus}; set YAO_SHARED_DIR to the folder that holds them`);

interface Reviewed {
  readonly assistants: number;
  readonly connectors: number;
  readonly mcpServers: number;
  readonly models: number;
  /** Every finding, each of which is true of the file it names. The scripts of these apps are not part of the data. */
  readonly findings: readonly string[];
}

const reviewed = JSON.parse(readFileSync(resolve(import.meta.dirname, "../testdata/corpus.json"), "utf8")) as Readonly<
  Record<string, Reviewed>
>;

test("132 assistants were reviewed", () => {
  const total = Object.values(reviewed).reduce((sum, { assistants }) => sum + assistants, 0);
  expect(total).toBe(132);
  const errors = Object.values(reviewed).flatMap(({ findings }) => findings.filter((line) => line.startsWith("error")));
  expect(errors).toEqual([]);
});

describe.skipIf(!isPresent).each(Object.keys(reviewed))("the public app %s", (folder) => {
  test("loads whole, and the findings are the reviewed ones", async () => {
    const files = await readAppDirectory(join(corpus, folder));
    const { app, problems } = loadApp(files);
    const count = (pattern: RegExp): number => [...files.keys()].filter((path) => pattern.test(path)).length;
    expect(app.assistants.size).toBe(count(/^assistants\/.+\/package\.yao$/));
    expect(app.mcpServers.size).toBe(count(/(?:^|\/)mcps\/.+\.mcp\.yao$/));
    expect(app.models.size).toBe(count(/^(?:assistants\/.+\/)?models\/.+\.mod\.yao$/));
    expect({
      assistants: app.assistants.size,
      connectors: app.connectors.size,
      mcpServers: app.mcpServers.size,
      models: app.models.size,
      findings: problems.map(show),
    }).toEqual(reviewed[folder]);
  });

  test("is the same after a journey as a bundle", async () => {
    const files = await readAppDirectory(join(corpus, folder));
    const back = readBundle(bundleApp(files).bytes);
    expect(loadApp(back)).toEqual(loadApp(files));
    expect(back).toEqual(files);
  });
});
