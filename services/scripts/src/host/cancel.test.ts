import { MeshError, systemClock, until } from "@mesh/kernel";
import { expect, test } from "vitest";

import { ScriptBundler } from "../bundle/script-bundler.ts";
import type { OpIo } from "../call.ts";
import { ScriptHarness, SEED } from "../testing/script-harness.ts";
import { DEFAULT_LIMITS } from "./default-limit.ts";
import { RunningCall } from "./running-call.ts";
import { ScriptWorker, type WorkerListener } from "./script-worker.ts";

const SCRIPT = `
  function Wait(ctx) { return ctx.memory.user.Get("k"); }
  function Sleep(ctx) { ctx.MessageID(); time.Sleep(60_000); }
  function Spin(ctx) { ctx.MessageID(); for (;;); }
  function Stubborn(ctx) { ctx.MessageID(); for (;;) { try { ctx.memory.user.Get("k"); } catch {} } }
  function Fine() { return 1; }
`;

function waiting(): { script: ScriptHarness; asked: () => Promise<OpIo> } {
  let seen: OpIo | undefined;
  const script = new ScriptHarness(SCRIPT, {
    ops: {
      "memory.Get": async (_args, io) => {
        seen = io;
        return await new Promise(() => undefined);
      },
    },
  });
  return { script, asked: async () => await until(() => seen) };
}

test("a call that waits for an operation ends at once, tells the operation, and its worker is used again", async () => {
  const { script, asked } = waiting();
  await using _ = script;
  const ending = new AbortController();
  const call = script.runUntil("Wait", ending.signal);
  call.catch(() => undefined);
  const io = await asked();
  expect(io.signal.aborted).toBe(false);
  ending.abort(new MeshError("cancelled", "The user pressed stop"));
  await expect(call).rejects.toMatchObject({ code: "cancelled", message: "The user pressed stop" });
  expect(io.signal.aborted).toBe(true);
  await expect(io.callback(1, [])).rejects.toMatchObject({ code: "cancelled" });
  expect(script.host.workers).toBe(1);
  expect(await script.value("Fine")).toBe(1);
  expect(script.host.workers).toBe(1);
});

test("a call whose signal has aborted already never starts", async () => {
  await using script = new ScriptHarness(SCRIPT);
  await expect(script.call({ fn: "Fine" }, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
});

test.each(["Sleep", "Stubborn", "Spin"])("%s is ended when its signal aborts, whatever it does", async (fn) => {
  await using script = new ScriptHarness(SCRIPT);
  const ending = new AbortController();
  const call = script.runUntil(fn, ending.signal);
  call.catch(() => undefined);
  await until(() => script.asked.length > 0);
  ending.abort();
  await expect(call).rejects.toMatchObject({ code: "cancelled", message: `test ${fn} was cancelled` });
  expect(await script.value("Fine")).toBe(1);
});

test("a call that waits for a worker leaves the queue", async () => {
  await using one = new ScriptHarness(SCRIPT, {
    host: { maxWorkers: 1 },
    ops: { "memory.Get": async () => await new Promise(() => undefined) },
  });
  const first = new AbortController();
  const second = new AbortController();
  const holder = one.runUntil("Wait", first.signal);
  holder.catch(() => undefined);
  await until(() => one.asked.length > 0);
  const queued = one.runUntil("Fine", second.signal);
  queued.catch(() => undefined);
  second.abort();
  await expect(queued).rejects.toMatchObject({ code: "cancelled", message: "test Fine was cancelled" });
  first.abort();
  await expect(holder).rejects.toMatchObject({ code: "cancelled" });
  expect(await one.value("Fine")).toBe(1);
});

test("a worker that dies in the middle of a call fails the call with a reason, once", async () => {
  const program = await new ScriptBundler().bundle({ read: () => SCRIPT }, "src/index.ts");
  const listener: WorkerListener = { message: () => undefined, ended: () => undefined };
  const worker = new ScriptWorker({ hardMb: 256, bufferMb: 16 }, listener);
  const call = new RunningCall(
    {
      clock: systemClock,
      worker,
      ops: { invoke: () => undefined },
      limits: DEFAULT_LIMITS,
      onWait: () => undefined,
      onInternalError: () => undefined,
    },
    { program, fn: "Sleep", args: [{ ctx: SEED }], label: "test Sleep" },
  );
  const ended = call.run(JSON.stringify([{ ctx: SEED }]), new AbortController().signal);
  ended.catch(() => undefined);
  await until(() => worker.isWaiting);
  await worker.terminate();
  await expect(ended).rejects.toMatchObject({ code: "unavailable" });
  expect(call.isSettled).toBe(true);
});

test("closing the host ends calls that run", async () => {
  const { script, asked } = waiting();
  const call = script.run("Wait");
  call.catch(() => undefined);
  await asked();
  await script.host.close();
  await expect(call).rejects.toMatchObject({ code: "unavailable" });
});
