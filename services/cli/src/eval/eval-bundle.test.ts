/** What travels to devices with an eval. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { readBundle } from "@mesh/assistants";
import { casesOf, type RemoteSuite } from "@mesh/eval/local";
import { afterAll, beforeAll, expect, test } from "vitest";

import { packEval } from "./eval-bundle.ts";

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "yao-pack-"));
  mkdirSync(join(root, "assistants/a/tests/files"), { recursive: true });
  writeFileSync(join(root, "assistants/a/package.yao"), '{"name":"A"}');
  writeFileSync(join(root, "assistants/a/tests/cases.jsonl"), "{}");
  writeFileSync(join(root, "assistants/a/tests/files/note.txt"), "badgers");
  writeFileSync(join(root, "outside.txt"), "no");
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function suiteOf(...sources: readonly string[]): RemoteSuite {
  const input = { role: "user", content: sources.map((source) => ({ type: "file", source })) };
  const { cases } = casesOf([{ id: "c", input }], "test");
  return { agentId: "a", root, cases, baseDir: join(root, "assistants/a/tests") };
}

test("the app without its cases and reports, and the files of the cases where devices look for them", async () => {
  const bundle = await packEval(suiteOf("file://files/note.txt", "file://./files/note.txt"));
  const files = readBundle(bundle.bytes);
  expect([...files.keys()]).toEqual([
    "assistants/a/package.yao",
    "assistants/a/tests/files/note.txt",
    "evals/files/files/note.txt",
    "outside.txt",
  ]);
  expect(Buffer.from(files.get("evals/files/files/note.txt") ?? []).toString()).toBe("badgers");
  expect((await packEval(suiteOf("file://files/note.txt"))).digest).toBe(bundle.digest);
});

test.each(["file://../../../outside.txt", "file:///etc/hostname"])(
  "%s does not travel, and says so",
  async (source) => {
    await expect(packEval(suiteOf(source))).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("does not travel to devices"),
    });
  },
);
