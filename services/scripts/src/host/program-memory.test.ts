import { expect, test } from "vitest";

import { ScriptBundler } from "../bundle/script-bundler.ts";
import { ScriptHarness } from "../testing/script-harness.ts";
import { MAX_PROGRAMS } from "../worker/protocol.ts";

const ONE_WORKER = { maxWorkers: 1, minWarm: 1 };

test("a script is found again after a worker has run more scripts than it keeps", async () => {
  const paths = Array.from({ length: MAX_PROGRAMS + 6 }, (_, n) => `s${n}.ts`);
  const app = { read: (path: string) => `export function Name() { return ${JSON.stringify(path)}; }` };
  const bundler = new ScriptBundler();
  await using scripts = new ScriptHarness("function Create() {}", { host: ONE_WORKER });
  for (const path of [...paths, ...paths]) {
    const program = await bundler.bundle(app, path);
    expect(await scripts.call({ program, fn: "Name" })).toMatchObject({ kind: "returned", value: path });
  }
});

test("a script that the engine does not compile says so at every call", async () => {
  await using scripts = new ScriptHarness("function Create() { return /(/.test('x'); }", { host: ONE_WORKER });
  for (let round = 0; round < 2; round += 1) {
    await expect(scripts.run("Create")).rejects.toThrow("Invalid regular expression");
  }
});
