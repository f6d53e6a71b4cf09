/** What is said to a run at work, from the command to the runner and from the runner to the journal. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import { Command, CommandAnswer, WorkItem } from "@mesh/proto/wire";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Journal } from "../journal/journal.ts";
import { type CommandTargets, executeCommand } from "../link/command.ts";
import { silentLog } from "../log.ts";
import type { RunListener } from "../runner/runner-process.ts";
import { RunSession } from "./run-session.ts";

const RUN = "run_01j8x5k2m3n4p5q6r7s8t9v0w1";

let dir: string;
let journal: Journal;
let session: RunSession;
let listener: RunListener | undefined;
let heard: string[];
let bundled: () => void;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-steer-"));
  journal = await Journal.open({ dir, clock: systemClock, log: silentLog });
  const bundle = new Promise<string>((resolve) => (bundled = () => resolve("/bundle")));
  heard = [];
  listener = undefined;
  const item = WorkItem.fromPartial({ run_id: RUN, epoch: 1, workspace_id: "ws_1", assistant_id: "a" });
  const run = await journal.start(item, { kind: "run.accepted", body: "{}", deltaOf: "", durable: true });
  session = new RunSession(run, {
    journal,
    runners: {
      run: (_job, given) => {
        listener = given;
        const nothing = (): void => undefined;
        return { cancel: nothing, abandon: nothing, steer: ({ id, text }) => void heard.push(`${id} ${text}`) };
      },
    },
    clock: systemClock,
    log: silentLog,
    env: {},
    bundlePath: () => bundle,
    secrets: async () => ({ keys: {}, env: {} }),
    savedState: () => Promise.reject(new Error("it does not resume")),
    askState: async () => undefined,
    evalBatch: () => Promise.reject(new Error("it is no eval")),
    askPermit: () => Promise.reject(new Error("it is no eval")),
    workspaceDir: () => dir,
    scratchDir: () => dir,
    isCertain: () => true,
    lost: () => undefined,
    over: () => undefined,
  });
  session.begin();
});

afterEach(async () => {
  session.drop();
  await journal.close();
  rmSync(dir, { recursive: true, force: true });
});

async function steer(message_id: string, text: string, epoch = 1): Promise<boolean> {
  const targets = {
    steer: (run: { runId: string; epoch: number }, message: { id: string; text: string }) =>
      run.runId === RUN && run.epoch === 1 && session.steer(message),
  } as unknown as CommandTargets;
  const command = Command.fromPartial({ command: { $case: "steer", value: { run_id: RUN, epoch, message_id, text } } });
  return CommandAnswer.decode(await executeCommand(targets, Command.encode(command).finish())).ok;
}

test("what is said before the runner is there is heard once it is, each message once and in order", async () => {
  expect([await steer("m1", "one"), await steer("m2", "two"), await steer("m1", "one")]).toEqual([true, true, true]);
  expect(heard).toEqual([]);
  bundled();
  await until(() => listener, { what: "the runner" });
  await steer("m2", "two");
  await steer("m3", "three");
  expect(heard).toEqual(["m1 one", "m2 two", "m3 three"]);
});

test("a run of another epoch, an ended run and an empty or huge message hear nothing", async () => {
  bundled();
  await until(() => listener, { what: "the runner" });
  expect([await steer("m1", "one", 2), await steer("m1", ""), await steer("", "one")]).toEqual([false, false, false]);
  expect([await steer("m1", "x".repeat(65_537)), await steer("m".repeat(101), "one")]).toEqual([false, false]);
  for (let n = 0; n < 100; n += 1) await steer(`n${n}`, "x");
  expect([await steer("one more", "x"), heard.length]).toEqual([false, 100]);
  listener?.ended({ state: "succeeded", output: "" });
  expect(await steer("late", "one")).toBe(false);
});

test("what the run has read is an event of its own kind; a program's message of that type is a message", async () => {
  bundled();
  const { message } = await until(() => listener, { what: "the runner" });
  message({ type: "steered", props: { message_id: "m1" } });
  message({ type: "steered", message_id: "M1", props: { message_id: "m2" } });
  const [run] = journal.runs();
  const told = async (): Promise<string[] | undefined> => {
    const events = run === undefined ? [] : await journal.read(run, 2, 1_000_000);
    return events.length < 2 ? undefined : events.map(({ kind, body }) => `${kind} ${body}`);
  };
  expect(await until(told, { what: "both events on disk" })).toEqual([
    'run.steered {"message_id":"m1"}',
    expect.stringMatching(/^message .*"m2"/),
  ]);
});
