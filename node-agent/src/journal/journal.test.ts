import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import type { WorkItem } from "@mesh/proto";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";

import { silentLog } from "../log.ts";
import { Journal, type JournalLimits, type NewEvent } from "./journal.ts";
import type { RunLog } from "./run-log.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-journal-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const ACCEPTED: NewEvent = { kind: "run.accepted", body: "{}", deltaOf: "", durable: true };
const END: NewEvent = { kind: "run.finished", body: '{"state":"succeeded"}', deltaOf: "", durable: true };

function runId(number: number): string {
  return `run_${String(number).padStart(26, "0")}`;
}

function item(number: number, epoch = 1): WorkItem {
  return {
    run_id: runId(number),
    epoch,
    workspace_id: "ws",
    assistant_id: "a",
    bundle_digest: "",
    input: "hi",
    options_json: "",
    metadata_json: "",
    connectors_json: "",
    needs_secrets: false,
    timeout_ms: 0,
    lease_ms: 0,
    user_id: "",
    attempt: 1,
    resume: false,
    eval: false,
  };
}

function message(text: string, deltaOf = ""): NewEvent {
  return { kind: "message", body: JSON.stringify({ text }), deltaOf, durable: false };
}

async function open(limits: Partial<JournalLimits> = {}): Promise<Journal> {
  return await Journal.open({ dir, clock: systemClock, log: silentLog, limits });
}

async function released(run: RunLog, n: number): Promise<void> {
  await until(() => run.releasedN >= n, { what: `event ${n}` });
}

async function bodies(journal: Journal, run: RunLog): Promise<string[]> {
  return (await journal.read(run, run.committedN + 1, Infinity)).map((event) => event.body);
}

function newestFile(): string {
  return join(dir, readdirSync(dir).toSorted().at(-1) ?? "");
}

test("K1 a start is found again, with its work item and its first event", async () => {
  const journal = await open();
  await journal.start(item(1), ACCEPTED);
  // No close: as after kill -9.
  const again = await open();
  const run = again.runs()[0]!;
  expect(run.item).toMatchObject({ run_id: runId(1), input: "hi" });
  expect(run.lastN).toBe(1);
  expect(again.admission(run)).toBe("held");
  await Promise.all([journal.close(), again.close()]);
});

test("K2 events are numbered densely, released in order, and read back", async () => {
  const journal = await open();
  const run = await journal.start(item(1), ACCEPTED);
  const seen: number[] = [];
  journal.onReleased((changed) => seen.push(changed.releasedN));
  for (let i = 0; i < 50; i += 1) expect(journal.append(run, message(`m${i}`))).toBe(i + 2);
  await released(run, 51);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect((await journal.read(run, 1, Infinity)).map((event) => event.n)).toEqual(
    Array.from({ length: 51 }, (_, i) => i + 1),
  );
  await journal.close();
});

test("K4 whatever byte the file ends at, a prefix of each run is found, and nothing else", async () => {
  const journal = await open();
  const runs = [await journal.start(item(1), ACCEPTED), await journal.start(item(2), ACCEPTED)];
  for (let i = 0; i < 40; i += 1) journal.append(runs[i % 2]!, message(`message ${i} ${"x".repeat(i * 7)}`));
  journal.append(runs[0]!, END);
  await released(runs[0]!, 22);
  await released(runs[1]!, 21);
  const expected = await Promise.all(runs.map((run) => bodies(journal, run)));
  await journal.close();
  const file = newestFile();
  const whole = readFileSync(file);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), fc.boolean(), async (length, isGarbled) => {
      for (const name of readdirSync(dir)) rmSync(join(dir, name));
      writeFileSync(file, whole);
      truncateSync(file, length);
      if (isGarbled && length > 20) {
        const bytes = readFileSync(file);
        const at = length - 10;
        bytes[at] = (bytes[at] ?? 0) ^ 0x55;
        writeFileSync(file, bytes);
      }
      const found = await open();
      for (const run of found.runs()) {
        const all = expected[run.runId === runId(1) ? 0 : 1]!;
        const got = await bodies(found, run);
        expect(got).toEqual(all.slice(0, got.length));
        expect(run.terminalN).toBe(got.length === 22 ? 22 : 0);
      }
      await found.close();
    }),
    { numRuns: 60 },
  );
});

test("K5 a run that is over is not new again, neither at once nor after a restart; a newer epoch is", async () => {
  const journal = await open();
  const run = await journal.start(item(1, 3), ACCEPTED);
  journal.append(run, END);
  await released(run, 2);
  journal.committed(run, 2);
  expect(journal.runs()).toHaveLength(0);
  for (const epoch of [2, 3, 4]) {
    expect(journal.admission({ runId: runId(1), epoch })).toBe(["stale", "held", "new"][epoch - 2]);
  }
  await journal.close();
  const again = await open();
  expect(again.admission({ runId: runId(1), epoch: 3 })).toBe("held");
  await again.close();
  // The file that held the tombstone is gone by now.
  const third = await open();
  expect(third.admission({ runId: runId(1), epoch: 2 })).toBe("stale");
  await third.close();
});

test("committed events are forgotten, and numbers go on after a restart", async () => {
  const journal = await open();
  const run = await journal.start(item(1), ACCEPTED);
  for (let i = 0; i < 9; i += 1) journal.append(run, message(`m${i}`));
  await released(run, 10);
  journal.committed(run, 7);
  expect(run.entries.map((entry) => entry.n)).toEqual([8, 9, 10]);
  await journal.close();
  const again = await open();
  const found = again.runs()[0]!;
  expect([found.committedN, found.lastN]).toEqual([7, 10]);
  expect(again.append(found, END)).toBe(11);
  await again.close();
});

test("files go when their runs are over; a long run does not keep them", async () => {
  const journal = await open({ segmentBytes: 20_000 });
  const long = await journal.start(item(1), ACCEPTED);
  for (let i = 2; i < 120; i += 1) {
    const run = await journal.start(item(i), ACCEPTED);
    journal.append(run, message("x".repeat(2_000)));
    journal.append(run, END);
    await released(run, 3);
    journal.committed(run, 3);
  }
  await until(() => readdirSync(dir).length <= 3, { what: "old files to go" });
  journal.append(long, message("still here"));
  await released(long, 2);
  await journal.close();
  const again = await open();
  expect(again.runs().map((run) => [run.runId, run.lastN])).toEqual([[runId(1), 2]]);
  expect(again.admission({ runId: runId(60), epoch: 1 })).toBe("held");
  await again.close();
});

test("K6 a full run first loses deltas of ended messages, then fails; tool results and the end always fit", async () => {
  const journal = await open({ runBytes: 20_000 });
  const run = await journal.start(item(1), ACCEPTED);
  for (let i = 0; i < 15; i += 1) journal.append(run, message("d".repeat(1_000), "M1"));
  await released(run, 16);
  journal.append(run, { ...message("whole"), endsMessage: "M1" });
  for (let i = 0; i < 10; i += 1) journal.append(run, message("t".repeat(1_000)));
  expect(() => {
    for (let i = 0; i < 20; i += 1) journal.append(run, message("u".repeat(1_000)));
  }).toThrow(/more events than this device keeps/);
  const n = journal.append(run, END);
  await released(run, n);
  const events = await journal.read(run, 1, Infinity);
  expect(events.map((event) => event.n)).toEqual(Array.from({ length: n }, (_, i) => i + 1));
  expect(
    events.filter((event) => event.delta_of === "M1" && event.body.includes("delta_dropped")).length,
  ).toBeGreaterThan(5);
  expect(events.filter((event) => event.body.includes("ttt"))).toHaveLength(10);
  expect(run.bytes).toBeLessThan(21_000);
  await journal.close();
});

test("K6 a full disk share refuses new runs with a reason", async () => {
  const journal = await open({ totalBytes: 5_000 });
  const run = await journal.start(item(1), ACCEPTED);
  journal.append(run, message("x".repeat(6_000)));
  await released(run, 2);
  await expect(journal.start(item(2), ACCEPTED)).rejects.toMatchObject({
    code: "resource_exhausted",
    details: { code: "journal_full" },
  });
  journal.append(run, END);
  await journal.close();
});

test("events beyond the memory budget are read from disk", async () => {
  const journal = await open({ cachedBytes: 1_000, segmentBytes: 10_000 });
  const run = await journal.start(item(1), ACCEPTED);
  for (let i = 0; i < 30; i += 1) {
    journal.append(run, message(`${i} ${"y".repeat(900)}`));
    await released(run, i + 2);
  }
  expect(run.entries.filter((entry) => entry.event === undefined).length).toBeGreaterThan(20);
  expect(await bodies(journal, run)).toHaveLength(31);
  expect((await journal.read(run, 5, 2_500)).map((event) => event.n)).toEqual([5, 6]);
  await journal.close();
});

test("the end of a run moves behind what the coordinator has when a power cut took events", async () => {
  const journal = await open();
  const run = await journal.start(item(1), ACCEPTED);
  journal.append(run, END);
  await released(run, 2);
  journal.committed(run, 9);
  await released(run, 10);
  expect((await journal.read(run, 10, Infinity)).map((event) => [event.n, event.kind])).toEqual([[10, "run.finished"]]);
  journal.committed(run, 10);
  expect(journal.runs()).toHaveLength(0);
  await journal.close();
});

test("the end of a run moves behind the one event that a power cut took, although both have the same number", async () => {
  const journal = await open();
  const run = await journal.start(item(1), ACCEPTED);
  journal.append(run, END);
  await released(run, 2);
  journal.committed(run, 2, false);
  await released(run, 3);
  expect((await journal.read(run, 3, Infinity)).map((event) => [event.n, event.kind])).toEqual([[3, "run.finished"]]);
  journal.committed(run, 3, true);
  expect(journal.runs()).toHaveLength(0);
  await journal.close();
});

test("one sync serves many runs", async () => {
  const journal = await open();
  const started = performance.now();
  await Promise.all(Array.from({ length: 200 }, (_, i) => journal.start(item(i), ACCEPTED)));
  console.log(
    `200 starts durable in ${Math.round(performance.now() - started)} ms, ${statSync(newestFile()).size} bytes`,
  );
  await journal.close();
});
