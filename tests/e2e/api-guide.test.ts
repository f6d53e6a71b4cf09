/** The examples of the guide of the API do what they say, in the order in which they stand. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

import { demoAppDirectory } from "@mesh/assistants";
import { afterAll, beforeAll, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const LANGUAGES: Readonly<Record<string, readonly [file: string, command: readonly string[]]>> = {
  bash: ["example.sh", ["bash"]],
  // Types are left out by the runner: the example is judged by what it prints.
  ts: ["example.ts", [process.execPath, "--import", "tsx"]],
  python: ["example.py", ["python3"]],
};

const guide = readFileSync(join(ROOT, "docs/guides/api.md"), "utf8");
const examples = [...guide.matchAll(/^```(bash|ts|python)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", code = ""], i) => ({
    title: `example ${i + 1} (${language})`,
    language,
    code,
  }),
);

let mesh: TestMesh;
let token: string;
let dir: string;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }] });
  await mesh.pushApp("demo", demoAppDirectory);
  token = (await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", { name: "my-program", scopes: ["runs"] }))
    .secret;
  // Inside the repository, so that programs find its packages.
  dir = mkdtempSync(join(ROOT, "tests", ".guide-"));
});

afterAll(async () => {
  await mesh?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A promised line as a pattern: … stands for anything. */
function patternOf(line: string): RegExp {
  const parts = line.split("…").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}

test("the guide has examples in all three languages", () => {
  expect(new Set(examples.map(({ language }) => language))).toEqual(new Set(["bash", "ts", "python"]));
  expect(examples.length).toBeGreaterThan(7);
});

test.each(examples)("$title prints what it says", async ({ language, code }) => {
  const [file, [command = "", ...args]] = LANGUAGES[language]!;
  const path = join(dir, file);
  writeFileSync(path, code);
  const { stdout } = await promisify(execFile)(command, [...args, path], {
    cwd: ROOT,
    env: { ...process.env, YAO_URL: mesh.api.url, YAO_TOKEN: token },
    timeout: 60_000,
  });
  const promised = code.split("\n").flatMap((line) => /^(?:\/\/|#) → (.*)$/.exec(line)?.[1] ?? []);
  const printed = stdout.trim().split("\n");
  expect(promised.length).toBeGreaterThan(0);
  expect(printed.length, stdout).toBe(promised.length);
  for (const [i, line] of promised.entries()) expect(printed[i]).toMatch(patternOf(line));
});
