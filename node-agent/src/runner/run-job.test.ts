import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bundleApp, demoAppDirectory, loadApp, readAppDirectory, readBundle } from "@mesh/assistants";
import { systemClock } from "@mesh/kernel";
import { PriceBook } from "@mesh/llm";
import { Workbench } from "@mesh/runtime/node";
import { expect, test } from "vitest";

import type { RunJob } from "./protocol.ts";
import { runJob } from "./run-job.ts";

test("a command of a tool sees what its run may read and what commands need, and no credential of the device's agent", async () => {
  const dir = mkdtempSync(join(tmpdir(), "yao-job-"));
  try {
    const device = {
      PATH: process.env["PATH"],
      HOME: "/home/agent",
      LANG: "C.UTF-8",
      TMPDIR: dir,
      YAO_RUNNER: "mark-of-the-runner",
      YAO_NODE_TOKEN: "secret-1",
      YAO_MASTER_KEY: "secret-2",
      NATS_URL: "nats://user:secret-3@host",
      DATABASE_URL: "postgres://user:secret-4@host",
      PGPASSWORD: "secret-5",
      AWS_SECRET_ACCESS_KEY: "secret-6",
      GITHUB_TOKEN: "secret-7",
    };
    const run = { WEATHER_API_KEY: "of-the-run", HOME: "/of/the/run", YAO_TOKEN: "secret-8", NATS_HOST: "secret-9" };
    const { app } = loadApp(readBundle(bundleApp(await readAppDirectory(demoAppDirectory)).bytes));
    const told: string[] = [];
    const log = (): void => undefined;
    await using bench = new Workbench({ clock: systemClock, dir: join(dir, "work"), env: device, version: "0", log });
    const ports = {
      clock: systemClock,
      random: () => 0.5,
      prices: new PriceBook([]),
      env: device,
      log,
      keep: () => Promise.resolve(),
      bench,
      state: { call: () => Promise.resolve(undefined) },
      emit: (message: unknown) => Promise.resolve(void told.push(JSON.stringify(message))),
    };
    const job = jobOf({ command: "env", env: run, workspaceDir: join(dir, "work") });
    expect(await runJob(job, app, ports, new AbortController().signal)).toMatchObject({ state: "succeeded" });
    const text = told.join("\n");
    const names = [...text.matchAll(/(?:\\n|")([A-Z_]+)=/g)].map((match) => match[1]);
    expect(names).toEqual(expect.arrayContaining(["PATH", "HOME", "LANG", "TMPDIR", "YAO_RUNNER", "WEATHER_API_KEY"]));
    expect(text).toContain("HOME=/home/agent");
    expect(text).toContain("WEATHER_API_KEY=of-the-run");
    expect(text).not.toContain("secret-");
    // Bash and the tool add the rest.
    const ours = new Set([...Object.keys(device), ...Object.keys(run), "PWD", "SHLVL", "_", "YAO_TOOL_CALL", "OLDPWD"]);
    expect(names.filter((name) => name !== undefined && !ours.has(name))).toEqual([]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

function jobOf(given: { command: string; env: RunJob["env"]; workspaceDir: string }): RunJob {
  const { command, env, workspaceDir } = given;
  return {
    runId: "run_1",
    epoch: 1,
    workspaceId: "ws_1",
    assistantId: "hello",
    userId: "user_1",
    input: `/tool bash ${JSON.stringify({ command })}`,
    options: { tools: ["bash"] },
    metadata: {},
    connectors: {},
    env,
    bundleDigest: "d",
    bundlePath: "",
    workspaceDir,
  };
}
