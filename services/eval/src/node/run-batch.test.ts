import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { loadApp, readAppDirectory } from "@mesh/assistants";
import { canonicalJson, type Json, systemClock } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { loadCases } from "../load/load-cases.ts";
import type { CaseResult } from "../result.ts";
import { NO_CONTEXT } from "../run/identity.ts";
import { EvalApp } from "../testing/eval-app.ts";
import { LocalHost } from "../local/local-host.ts";
import { type BatchSettings, type BatchUnit, runBatch } from "./run-batch.ts";

const CASES = [
  { id: "a", input: "/echo x", assert: { type: "contains", value: "x" } },
  { id: "b", input: "/echo x", assert: { type: "contains", value: "y" } },
  { id: "c", input: "/echo x", before: "env_test.Before", after: "env_test.After" },
  { id: "d", input: "/fail unavailable gone" },
];
const SETTINGS: BatchSettings = {
  agentId: "echo",
  identity: { context: NO_CONTEXT, nonce: "n" },
  timeoutMs: 20_000,
  retries: 0,
  parallel: 2,
  baseDir: ".",
};

let app: EvalApp;
let host: LocalHost;
let scratch = "";

beforeEach(async () => {
  app = new EvalApp({
    "assistants/echo/src/env_test.ts":
      "export function Before(ctx, test) { return test.id; }\nexport function After(ctx, test, result, data) { if (data !== test.id) throw new Error('mixed up'); }",
  });
  scratch = mkdtempSync(join(tmpdir(), "yao-batch-"));
  const loaded = loadApp(await readAppDirectory(app.dir));
  const options = { clock: systemClock, dir: scratch, env: {}, variables: {}, version: "0" };
  host = new LocalHost({ app: loaded.app, ...options });
});

afterEach(async () => {
  await host[Symbol.asyncDispose]();
  app[Symbol.dispose]();
  rmSync(scratch, { recursive: true, force: true });
});

async function batch(
  units: readonly BatchUnit[],
  more: Partial<BatchSettings> & { readonly signal?: AbortSignal; readonly onResult?: () => void } = {},
): Promise<readonly CaseResult[]> {
  const { signal = new AbortController().signal, onResult: heard, ...settings } = more;
  const results: CaseResult[] = [];
  const onResult = (result: CaseResult): void => {
    results.push(result);
    heard?.();
  };
  const count = await runBatch(units, { ...SETTINGS, ...settings }, { host, clock: systemClock, onResult }, signal);
  expect(count).toBe(results.length);
  return results;
}

/** All of a result but how long it took, and where. */
function timeless({ duration_ms: _took, device: _device, assertions, ...rest }: CaseResult): string {
  const claims = assertions?.map(({ duration_ms: _claimTook, ...claim }) => claim);
  return canonicalJson({ ...rest, ...(claims === undefined ? {} : { assertions: claims }) } as unknown as Json);
}

test("units that travelled as JSON end as they do in a local eval, each with its digest, run and device", async () => {
  const travelled = JSON.parse(
    JSON.stringify(CASES.flatMap((each) => [1, 2].map((run) => ({ case: each, run })))),
  ) as BatchUnit[];
  const results = await batch(travelled, { device: "laptop" });
  const local = await app.run(CASES, { runs: 2 });
  expect(results.map(timeless).toSorted()).toEqual(
    local.results.map(({ type: _type, ...result }) => timeless(result)).toSorted(),
  );
  expect(new Set(results.map(({ device }) => device))).toEqual(new Set(["laptop"]));
  const loaded = loadCases(CASES.map((each) => JSON.stringify(each)).join("\n"), "cases.jsonl");
  expect(new Set(results.map(({ hash }) => hash))).toEqual(new Set(loaded.cases.map(({ hash }) => hash)));
});

test("a batch that is stopped gives the results it has, and none of what was under way", async () => {
  const stop = new AbortController();
  const slow = { id: "slow", input: "/slow 1h" };
  const units = [CASES[0] ?? {}, slow, slow].map((each, index) => ({ case: { ...each }, run: index + 1 }));
  const results = await batch(units, { parallel: 1, signal: stop.signal, onResult: () => stop.abort() });
  expect(results.map(({ id }) => id)).toEqual(["a"]);
});

test("nothing runs when a case cannot be read, or names what this app does not have", async () => {
  await expect(
    batch([
      { case: CASES[0] ?? {}, run: 1 },
      { case: { id: "x" }, run: 1 },
    ]),
  ).rejects.toThrow(/input/);
  await expect(batch([{ case: { id: "x", input: "y", before: "none_test.Before" }, run: 1 }])).rejects.toThrow(
    /the hook "none_test.Before" is not there/,
  );
});
