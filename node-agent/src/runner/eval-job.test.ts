import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "..");

test("only the file that a runner loads with its first batch imports evals", () => {
  const sources = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
  );
  const textOf = (path: string): string => readFileSync(join(SRC, path), "utf8");
  expect(sources.length).toBeGreaterThan(40);
  expect(sources.filter((path) => textOf(path).includes('"@mesh/eval'))).toEqual([join("runner", "eval-job.ts")]);
  const users = sources.filter((path) => /^import (?!type )[^;]*eval-job\.ts"/m.test(textOf(path)));
  expect(users).toEqual([]);
  expect(textOf(join("runner", "main.ts"))).toContain('await import("./eval-job.ts")');
});
