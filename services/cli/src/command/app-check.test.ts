/** The real command over app directories. */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { afterEach, beforeEach, expect, test } from "vitest";

import { startYao, type YaoProcess } from "../testing/yao-process.ts";

const LIMIT = 30_000;

let dir = "";
let started: YaoProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "app-check-"));
});
afterEach(() => {
  for (const { child } of started) child.kill("SIGKILL");
  started = [];
  rmSync(dir, { recursive: true, force: true });
});

function put(path: string, content: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function check(...args: readonly string[]): Promise<Ended> {
  const command = startYao(["app", "check", ...args], { YAO_HOME: dir });
  started.push(command);
  const { code } = await command.exited;
  return { code, stdout: command.stdout(), stderr: command.stderr() };
}

function putBroken(): void {
  put("assistants/b/package.yao", '{\n"name": "B",\n"tags": 1,\n"colour": 2}');
  put("assistants/a/package.yao", '{"name": "A",\n"hooks": {}}');
  put("assistants/a/prompts.yml", "- role: robot\n  content: x\n");
  put("assistants/good/package.yao", '{"name": "Good"}');
}

test("every problem is shown at once, sorted, with a summary, and errors exit with 1", { timeout: LIMIT }, async () => {
  putBroken();
  expect(await check(dir)).toEqual({
    code: 1,
    stdout: `assistants/a/package.yao:2: note: hooks is not read: hooks are the functions of src/index.ts
assistants/a/prompts.yml:1: error: prompt 1: role must be "system" or "user" or "assistant", not "robot"
assistants/b/package.yao:3: error: tags must be a list of strings, not 1
assistants/b/package.yao:4: warning: unknown key colour; it is ignored

2 errors, 1 warning, 1 note in 3 files; mend the errors before you push (1 assistant without any)
`,
    stderr: "",
  });
});

test("--json is one document with the same", { timeout: LIMIT }, async () => {
  putBroken();
  const { code, stdout, stderr } = await check(dir, "--json");
  expect([code, stderr]).toEqual([1, ""]);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, assistants: 1, errors: 2, warnings: 1, notes: 1 });
  expect((JSON.parse(stdout) as { problems: unknown[] }).problems[3]).toEqual({
    file: "assistants/b/package.yao",
    line: 4,
    message: "unknown key colour; it is ignored",
    severity: "warning",
  });
});

test("an app with warnings only is good", { timeout: LIMIT }, async () => {
  put("assistants/a/package.yao", '{"name": "A", "colour": 1}');
  expect(await check(dir)).toEqual({
    code: 0,
    stdout:
      "assistants/a/package.yao:1: warning: unknown key colour; it is ignored\n\nok: 1 assistant; 1 warning in 1 file\n",
    stderr: "",
  });
});

test("the demo app is good", { timeout: LIMIT }, async () => {
  const { code, stdout } = await check(demoAppDirectory);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ok: \d+ assistants\n$/);
});

test("control characters of a file cannot reach the terminal", { timeout: LIMIT }, async () => {
  put("assistants/a/package.yao", JSON.stringify({ name: "A", "\u001B[31mred": 1 }));
  const { stdout } = await check(dir);
  expect(stdout).not.toContain("\u001B");
});

test.each<[name: string, prepare: () => readonly string[], code: number, stderr: RegExp]>([
  ["no directory", () => [], 2, /missing required argument 'dir'/],
  ["an unknown flag", () => [dir, "--fix"], 2, /unknown option '--fix'/],
  ["a directory that is not there", () => [join(dir, "none")], 1, /none is not there — give the directory of an app/],
  [
    "a link out of the app",
    () => {
      put("app/assistants/a/package.yao", '{"name": "A"}');
      symlinkSync("/etc/passwd", join(dir, "app/assistants/a/prompts.yml"));
      return [join(dir, "app")];
    },
    1,
    /assistants\/a\/prompts\.yml is a link that leaves the app directory; replace it by a copy/,
  ],
])("%s is refused in one line", { timeout: LIMIT }, async (_name, prepare, expected, message) => {
  const { code, stdout, stderr } = await check(...prepare());
  expect([code, stdout]).toEqual([expected, ""]);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd()).not.toContain("\n");
});
