/** The eval inputs of public apps, run against the scripted server. Scripts of those apps are not published: hooks are put beside. */

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

import { ConsoleReport, runEval } from "@mesh/eval/local";
import { readResults } from "@mesh/eval";
import { systemClock } from "@mesh/kernel";
import { expect, test } from "vitest";

import { startLlmServer } from "./index.ts";

const CORPUS = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared"), "corpus");
if (!existsSync(CORPUS)) console.log(`skipped: there are no public assistants at ${CORPUS} (set YAO_SHARED_DIR)`);

const HOOKS = `
export function Before(ctx, testCase) { return { id: testCase.id }; }
export function After(ctx, testCase, result, data) { if (data.id !== testCase.id || result.status !== "passed") throw new Error("mixed up"); }`;

/** Every input of an eval: JSONL elsewhere describes MCP servers. */
function inputsBelow(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    if (statSync(path).isDirectory()) return inputsBelow(path);
    return /assistants\/.*\/tests\/[^/]*\.jsonl$/.test(path) ? [path] : [];
  });
}

test.skipIf(!existsSync(CORPUS))("the inputs of public apps run, and each case ends as an echo makes it", async () => {
  const inputs = inputsBelow(CORPUS);
  expect(inputs.length).toBeGreaterThan(0);
  await using llm = await startLlmServer();
  for (const input of inputs) {
    const root = input.slice(0, input.indexOf("/assistants/"));
    const dir = mkdtempSync(join(tmpdir(), "yao-corpus-eval-"));
    try {
      const copied = join(dir, "app", relative(root, input));
      cpSync(root, join(dir, "app"), { recursive: true });
      const scripts = join(dirname(dirname(copied)), "src");
      mkdirSync(scripts, { recursive: true });
      writeFileSync(join(scripts, "env_test.ts"), HOOKS);
      const model = { type: "openai", options: { model: "gpt-4o", key: "k", host: llm.url } };
      writeFileSync(join(dir, "app/connectors/gpt-4o.conn.yao"), JSON.stringify(model));
      mkdirSync(join(dir, "scratch"));
      const text: string[] = [];
      const { exitCode } = await runEval(
        {
          input: { kind: "file", path: copied },
          inputText: copied,
          cwd: dir,
          timeoutMs: 20_000,
          runs: 1,
          parallel: 2,
          retries: 0,
          failFast: false,
          isDryRun: false,
          output: join(dir, "out.jsonl"),
        },
        {
          clock: systemClock,
          nonce: "n",
          version: "0",
          env: {},
          variables: {},
          scratchDir: join(dir, "scratch"),
          reporter: new ConsoleReport((part) => text.push(part), { isVerbose: false }),
        },
        new AbortController().signal,
      );
      const written = readFileSync(input, "utf8").trim().split("\n").length;
      const ended: string[] = [];
      for await (const { id, status, error, warnings } of readResults(join(dir, "out.jsonl")))
        ended.push([id, status, ...(error === undefined ? [] : [error]), ...(warnings ?? [])].join(" "));
      expect(ended).toHaveLength(written);
      expect(ended.filter((line) => !line.endsWith(" passed"))).toEqual([]);
      expect(exitCode).toBe(0);
      expect(text.join("")).toContain("ALL TESTS PASSED");
      expect(llm.requests.length).toBeGreaterThanOrEqual(written);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
});
