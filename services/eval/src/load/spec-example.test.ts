/** The documented cases, as they are written. Skipped where the document is not at hand. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { loadCases } from "./load-cases.ts";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../../shared");
const document = join(shared, "spec/eval.md");
const corpus = join(shared, "corpus");
if (!existsSync(document))
  console.warn(`skipped: there is no ${document}; set YAO_SHARED_DIR to the folder that holds it`);

function blocks(): readonly (readonly [line: number, text: string])[] {
  if (!existsSync(document)) return [];
  const text = readFileSync(document, "utf8");
  return [...text.matchAll(/^```jsonl\n([^]*?)^```/gm)].map((match) => [
    text.slice(0, match.index).split("\n").length,
    match[1] ?? "",
  ]);
}

/** Some blocks show assertions alone: they are put into a case. */
function asCases(text: string): string {
  return text.replaceAll(
    /^(\{"type": "(?:tool_called|tool_result)".*\})$/gm,
    (_all, assert: string, at: number) => `{"id":"at-${at}","input":"x","assert":${assert}}`,
  );
}

describe.skipIf(!existsSync(document))("the documented cases", () => {
  test("there are all of them", () => {
    expect(blocks().length).toBeGreaterThanOrEqual(25);
  });

  test.each(blocks())("line %i loads", (_line, text) => {
    const { cases, problems } = loadCases(asCases(text), "spec.jsonl");
    expect(problems).toEqual([]);
    expect(cases.length).toBeGreaterThan(0);
  });
});

function inputsBelow(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    if (statSync(path).isDirectory()) return inputsBelow(path);
    return /tests\/[^/]*\.jsonl$/.test(path) ? [path] : [];
  });
}

test.skipIf(!existsSync(corpus))("the inputs of public apps load", () => {
  const files = inputsBelow(corpus);
  expect(files.length).toBeGreaterThan(0);
  for (const path of files) expect([path, loadCases(readFileSync(path, "utf8"), path).problems]).toEqual([path, []]);
});
