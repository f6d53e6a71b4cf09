import { loadApp } from "@mesh/assistants";
import { systemClock } from "@mesh/kernel";
import type { OutputMessage } from "@mesh/runtime";
import { Workbench } from "@mesh/runtime/node";
import { expect, test } from "vitest";

import type { RunEnd, RunJob } from "./protocol.ts";
import { runJob } from "./run-job.ts";

const FILES = {
  "assistants/hello/package.yao": '{"name": "Hello", "connector": "demo"}',
  "assistants/hello/prompts.yml": "- role: system\n  content: x\n",
};
const { app } = loadApp(new Map(Object.entries(FILES).map(([path, text]) => [path, new TextEncoder().encode(text)])));

interface Ran {
  readonly end: RunEnd;
  readonly pieces: string[];
  readonly messages: OutputMessage[];
}

async function run(more: Partial<RunJob>): Promise<Ran> {
  const pieces: string[] = [];
  const messages: OutputMessage[] = [];
  const job: RunJob = {
    runId: "run_1",
    epoch: 1,
    workspaceId: "ws_1",
    assistantId: "hello",
    userId: "user_1",
    input: "",
    options: { tools: ["ask_user"] },
    metadata: {},
    connectors: {},
    env: {},
    bundleDigest: "d",
    bundlePath: "",
    workspaceDir: import.meta.dirname,
    ...more,
  };
  const sinks = {
    emit: (message: OutputMessage) => void messages.push(message),
    keep: async (piece: string) => void pieces.push(piece),
  };
  const log = (): void => undefined;
  await using bench = new Workbench({ clock: systemClock, dir: import.meta.dirname, env: {}, version: "0", log });
  const ports = { clock: systemClock, env: {}, bench, state: { call: () => Promise.resolve(undefined) }, ...sinks };
  const end = await runJob(job, app, ports, new AbortController().signal);
  return { end, pieces, messages };
}

test("the state of a run that waits comes in bounded pieces, cut in no character, and is what it goes on from", async () => {
  // Every second cut would fall into a character of two units.
  const question = `?${"😀".repeat(200_000)}`;
  const input = `/tool ask_user ${JSON.stringify({ question })}`;
  const first = await run({ input });
  if (first.end.state !== "waiting") throw new Error(`the run ended as ${first.end.state}`);
  expect(first.pieces.length).toBeGreaterThan(3);
  for (const piece of first.pieces) {
    expect(Buffer.byteLength(piece)).toBeLessThan(512 * 1024);
    expect(piece).not.toMatch(/\p{Surrogate}/u);
  }
  expect(JSON.stringify(first.end).length).toBeLessThan(256 * 1024);
  const answers = [{ call_id: first.end.pending[0]?.id ?? "", decision: "answer", text: "yes" }];
  const second = await run({ epoch: 2, input, resume: { state: first.pieces.join(""), answers } });
  expect(second.end).toMatchObject({ state: "succeeded", output: "The tool answered: yes" });
  expect(second.pieces).toEqual([]);
});

test("a run that goes on from a broken state fails with a reason", async () => {
  const { end } = await run({ resume: { state: "{", answers: [] } });
  expect(end).toMatchObject({ state: "failed", error: { code: "data_loss" } });
});
