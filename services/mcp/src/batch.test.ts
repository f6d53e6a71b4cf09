import { expect, test } from "vitest";

import { callAll, callAny, callRace, callTools, callToolsParallel, type McpToolOutcome } from "./batch.ts";
import type { McpClient } from "./client.ts";
import { processFixture, type TestProcess } from "./testing/process-fixture.ts";

interface Gate {
  readonly open: (value?: unknown) => void;
  readonly process: TestProcess;
}

/** A process that answers when the test says so. */
function gate(): Gate {
  let open: (value: unknown) => void = () => undefined;
  const opened = new Promise<unknown>((resolve) => {
    open = resolve;
  });
  return { open: (value = "done") => open(value), process: () => opened };
}

function setup(processes: Readonly<Record<string, TestProcess>>): {
  open: (mcp: string) => McpClient<string>;
  calls: ReturnType<typeof processFixture>["calls"];
} {
  const { clients, calls } = processFixture(processes);
  const tools = Object.fromEntries(Object.keys(processes).map((name) => [name, name]));
  const servers = new Map(["one", "two"].map((id) => [id, clients.get({ id, transport: "process", tools })]));
  return {
    calls,
    open: (mcp) => {
      const client = servers.get(mcp);
      if (client === undefined) throw new Error(`no server ${mcp}`);
      return client;
    },
  };
}

const options = { caller: "run" };
const fail: TestProcess = () => {
  throw new Error("broken");
};
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

test("calls on one server are made one after the other", async () => {
  const first = gate();
  const { open, calls } = setup({ first: first.process, second: () => ({ n: 2 }) });
  const batch = callTools(open("one"), [{ name: "first" }, { name: "second" }], options);
  await settle();
  expect(calls.map(({ name }) => name)).toEqual(["first"]);
  first.open({ n: 1 });
  expect(await batch).toEqual([{ n: 1 }, { n: 2 }]);
});

test("a call that cannot be made ends the sequence; a tool that fails does not", async () => {
  const { open, calls } = setup({ good: () => 1, fail });
  expect(await callTools(open("one"), [{ name: "fail" }, { name: "good" }], options)).toEqual([
    "Error executing tool fail: broken",
    1,
  ]);
  const ended = callTools(open("one"), [{ name: "nope" }, { name: "good" }], options);
  await expect(ended).rejects.toMatchObject({ code: "not_found" });
  expect(calls).toHaveLength(2);
});

test("B1 B3: parallel results are in the order of the calls, and each is told when it comes", async () => {
  const slow = gate();
  const { open } = setup({ slow: slow.process, quick: () => "quick" });
  const told: [number, McpToolOutcome][] = [];
  const batch = callToolsParallel(open("one"), [{ name: "slow" }, { name: "quick" }], {
    ...options,
    settled: (index, outcome) => told.push([index, outcome]),
  });
  await settle();
  expect(told).toEqual([[1, { mcp: "one", tool: "quick", result: "quick" }]]);
  slow.open("slow");
  expect(await batch).toEqual(["slow", "quick"]);
});

test("all answers every request at its place, also the ones that could not be made", async () => {
  const { open } = setup({ good: () => ({ ok: true }), fail });
  const requests = [
    { mcp: "one", tool: "good" },
    { mcp: "nowhere", tool: "good" },
    { mcp: "two", tool: "fail" },
    { mcp: "two" } as { mcp: string; tool: string },
  ];
  expect(await callAll(requests, open, options)).toEqual([
    { mcp: "one", tool: "good", result: { ok: true } },
    { mcp: "nowhere", tool: "good", error: "no server nowhere" },
    {
      mcp: "two",
      tool: "fail",
      result: "Error executing tool fail: broken",
      error: "Error executing tool fail: broken",
    },
    { mcp: "two", tool: undefined, error: expect.stringContaining("needs the names") },
  ]);
});

test("B2: any returns with the first success and cancels the others", async () => {
  const slow = gate();
  let slowSignal: AbortSignal | undefined;
  const { open } = setup({
    fail,
    good: () => "good",
    slow: (args, caller, signal) => {
      slowSignal = signal;
      return slow.process(args, caller, signal);
    },
  });
  const told: number[] = [];
  const results = await callAny(
    [
      { mcp: "one", tool: "slow" },
      { mcp: "one", tool: "fail" },
      { mcp: "two", tool: "good" },
    ],
    open,
    { ...options, settled: (index) => told.push(index) },
  );
  expect(results[0]).toBeNull();
  expect(results.find((result) => result !== null && result.error === undefined)).toMatchObject({ result: "good" });
  expect(slowSignal?.aborted).toBe(true);
  slow.open();
  await settle();
  expect(told).not.toContain(0);
});

test("B2: any of which none succeeds returns all errors", async () => {
  const { open } = setup({ fail });
  const results = await callAny(
    [
      { mcp: "one", tool: "fail" },
      { mcp: "two", tool: "fail" },
    ],
    open,
    options,
  );
  expect(results.map((result) => result?.error)).toEqual(Array(2).fill("Error executing tool fail: broken"));
});

test("B2: race returns with the first, however it went", async () => {
  const slow = gate();
  const { open } = setup({ fail, slow: slow.process });
  const results = await callRace(
    [
      { mcp: "one", tool: "slow" },
      { mcp: "two", tool: "fail" },
    ],
    open,
    options,
  );
  expect(results).toEqual([null, expect.objectContaining({ mcp: "two", error: expect.any(String) })]);
});

test("a batch ends with its caller's signal", async () => {
  const { open } = setup({ slow: gate().process });
  const stop = new AbortController();
  const batches = [callAll, callAny, callRace].map((call) =>
    call([{ mcp: "one", tool: "slow" }], open, { ...options, signal: stop.signal }),
  );
  await settle();
  stop.abort();
  for (const batch of batches) await expect(batch).rejects.toMatchObject({ code: "cancelled" });
});

test("an empty batch is an empty list, and an endless one is refused", async () => {
  const { open } = setup({});
  expect(await callAll([], open, options)).toEqual([]);
  expect(await callAny([], open, options)).toEqual([]);
  const many = Array.from({ length: 101 }, () => ({ mcp: "one", tool: "x" }));
  await expect(callAll(many, open, options)).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(callRace(many, open, options)).rejects.toMatchObject({ code: "invalid_argument" });
});
