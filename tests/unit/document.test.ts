/** Documents: their links lead somewhere, and they say what the code does. */

import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

import { read, ROOT } from "./repository.ts";

describe("documents", () => {
  const own = ["CONTRIBUTING.md", "SECURITY.md", ...markdownIn("docs")];

  test.each(own)("every relative link of %s leads somewhere", (file) => {
    const targets = [...read(file).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? "");
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    expect(local.filter((target) => !existsSync(resolve(ROOT, dirname(file), target)))).toEqual([]);
  });

  test.each(markdownIn("docs/adr"))("%s states context, decision and consequences on one page", (file) => {
    const text = read(file);
    expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual(["Context", "Decision", "Consequences"]);
    expect(text.split("\n").length).toBeLessThanOrEqual(60);
    expect(text).toMatch(new RegExp(`^# ${Number(/(\d{4})-/.exec(file)?.[1])}\\. `));
  });

  test("docs/architecture.md shows the edges that the architecture test enforces", () => {
    const table = [...read("docs/architecture.md").matchAll(/^\| `([\w/-]+)` +\| [^|]+ \| ([^|]*[^| ]) *\|$/gm)];
    const shown = Object.fromEntries(
      table.map((row) => [row[1], row[2] === "nothing" ? [] : row[2]?.split(", ").toSorted()]),
    );
    const source = /const ALLOWED[^{]*\{([\s\S]*?)\n\};/.exec(read("tests/architecture.test.ts"))?.[1] ?? "";
    const rows = [...source.matchAll(/^\s*"?([\w/-]+)"?: \[([^\]]*)\]/gm)];
    const enforced = Object.fromEntries(
      rows.map((row) => [row[1], [...(row[2] ?? "").matchAll(/"([\w-]+)"/g)].map((name) => name[1]).toSorted()]),
    );
    expect(Object.keys(enforced).length).toBeGreaterThan(5);
    expect(shown).toEqual(enforced);
  });
});

function markdownIn(dir: string): string[] {
  if (!existsSync(join(ROOT, dir))) return [];
  return readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => relative(ROOT, join(ROOT, dir, name)));
}
