/** The configuration that the documents of the format show: all of it loads, and nothing is said about it. */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { describe, expect, test } from "vitest";

import { load } from "./testing/app-of.ts";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../shared");
const spec = join(shared, "spec");
const isPresent = existsSync(spec);
if (!isPresent)
  console.warn(`skipped: the documents are not at ${spec}; set YAO_SHARED_DIR to the folder that holds them`);

const SERVER = { transport: "process", tools: { t: "utils.now.Date" } };

/** Where a block belongs, told by what is in it, and the block as a whole file. */
function place(block: string): readonly [path: string, content: unknown] {
  const value = JSON.parse(block) as Record<string, unknown>;
  if ("transport" in value) return ["mcps/shown.mcp.yao", value];
  if ("x-process-args" in value) return ["mcps/mapping/s/schemes/t.in.yao", value];
  if ("columns" in value || "relations" in value || "option" in value) return ["models/shown.mod.yao", value];
  return ["assistants/a/package.yao", { name: "A", ...value }];
}

function blocksOf(page: string, language: string): readonly string[] {
  const text = readFileSync(join(spec, page), "utf8");
  return [...text.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map((match) => match[1] ?? "");
}

// Other files than the one block are not there to be found.
const NAMES_ELSEWHERE = /this app has no|there is no (?:script|model)|has no description/;

describe.skipIf(!isPresent)("the documents", () => {
  test.each([
    ["configuration.md", 13],
    ["i18n.md", 2],
    ["mcp.md", 10],
    ["models.md", 7],
  ])("of %s every JSON block loads without a finding", (page, least) => {
    const blocks = blocksOf(page, "json");
    expect(blocks.length).toBeGreaterThanOrEqual(least);
    for (const block of blocks) {
      const [path, content] = place(block);
      const { findings } = load({
        "mcps/s.mcp.yao": SERVER,
        "mcps/mapping/s/schemes/t.in.yao": {},
        [path]: content,
      });
      expect(
        findings.filter((finding) => !NAMES_ELSEWHERE.test(finding)),
        block,
      ).toEqual([]);
    }
  });

  test("of i18n.md every YAML block loads without a finding", () => {
    const blocks = blocksOf("i18n.md", "yaml");
    expect(blocks.length).toBeGreaterThanOrEqual(4);
    for (const block of blocks) {
      const path = block.startsWith("- role") ? "assistants/a/prompts.yml" : "assistants/a/locales/en-us.yml";
      expect(load({ [path]: block }).findings, block).toEqual([]);
    }
  });
});
