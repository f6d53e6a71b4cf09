/** A real runner process, as the agent starts it. */

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { expect, test } from "vitest";

import { programOf } from "../program.ts";
import type { RunJob, ToRunner } from "./protocol.ts";

test("commands of tools end with a runner whose agent is gone", async () => {
  const dir = mkdtempSync(join(tmpdir(), "yao-runner-"));
  const bundlePath = join(dir, "bundle");
  writeFileSync(bundlePath, bundleApp(await readAppDirectory(demoAppDirectory)).bytes);
  const program = programOf("main", import.meta.url);
  const runner = fork(program.path, [], { execArgv: [...program.execArgv], stdio: "ignore" });
  try {
    await once(runner, "message");
    const command = "echo $$ > shell; sleep 300 & echo $! > child; wait";
    const job: RunJob = {
      runId: "run_1",
      epoch: 1,
      workspaceId: "ws_1",
      assistantId: "hello",
      userId: "user_1",
      input: `/tool bash ${JSON.stringify({ command })}`,
      options: { tools: ["bash"] },
      metadata: {},
      connectors: {},
      env: {},
      bundleDigest: "d",
      bundlePath,
      workspaceDir: join(dir, "work"),
    };
    runner.send({ kind: "run", job } satisfies ToRunner);
    const pidIn = (name: string): number | undefined => {
      try {
        return Number(readFileSync(join(dir, "work", name), "utf8")) || undefined;
      } catch {
        return undefined;
      }
    };
    const pids = await until(
      () => {
        const [shell, child] = [pidIn("shell"), pidIn("child")];
        return shell !== undefined && child !== undefined && [shell, child];
      },
      { timeoutMs: 20_000, what: "the command to run" },
    );
    expect(pids.every(isAlive)).toBe(true);
    runner.disconnect();
    await once(runner, "exit");
    await until(() => !pids.some(isAlive), { timeoutMs: 5_000, what: "the end of the command and its child" });
  } finally {
    runner.kill("SIGKILL");
    rmSync(dir, { recursive: true, force: true });
  }
});

function isAlive(pid: number): boolean {
  try {
    // A process that ended and was not collected yet is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
