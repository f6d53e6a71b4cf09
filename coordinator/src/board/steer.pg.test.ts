import { subjects } from "@mesh/bus";
import { Command, type TaskMessage } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { appendToLogs } from "../runs/run-log.ts";
import { offerMessages } from "./steer.ts";
import { type BoardFixture, startBoard } from "./testing/board-fixture.ts";

let board: BoardFixture;

beforeEach(async () => {
  board = await startBoard();
});

afterEach(async () => {
  await board[Symbol.asyncDispose]();
});

const sql = (): BoardFixture["fleet"]["tenant"]["store"]["sql"] => board.fleet.tenant.store.sql;

/** A task whose run works on a device. */
async function working(): Promise<{ readonly task: string; readonly run: string }> {
  const task = await board.create({ message: "the house", start: true });
  const run = task.run_id ?? "";
  await sql()`
    INSERT INTO nodes (id, name, nkey, digest, slots) VALUES ('node_1', 'laptop', 'N', 'abcdefghij0123456789', 1) ON CONFLICT DO NOTHING`;
  await sql()`UPDATE runs SET state = 'running', node_id = 'node_1', lease_epoch = 1 WHERE id = ${run}`;
  return { task: task.id, run };
}

/** The run says that it has read these. */
async function read(runId: string, ...ids: string[]): Promise<void> {
  const event = (id: string): { runId: string; kind: string; body: Record<string, unknown> } => ({
    runId,
    kind: "run.steered",
    body: { message_id: id },
  });
  await sql().begin((tx) => appendToLogs(tx, ids.map(event)));
}

/** What would be said to the device. */
async function offered(task: string): Promise<{ id: string; text: string }[]> {
  const out: { id: string; text: string }[] = [];
  const publish = (subject: string, data: Uint8Array): void => {
    expect(subject).toBe(subjects.command("abcdefghij0123456789"));
    const { command } = Command.decode(data);
    if (command?.$case === "steer") out.push({ id: command.value.message_id, text: command.value.text });
  };
  await offerMessages({ sql: sql(), bus: { publish } }, task);
  return out;
}

const inputs = async (task: string): Promise<string[]> =>
  (await sql()<{ input: string }[]>`SELECT input FROM runs WHERE task_id = ${task} ORDER BY id`).map(
    (run) => run.input,
  );

const said = async (task: string): Promise<readonly TaskMessage[]> =>
  (await board.tasks.listTaskMessages({ task, before_seq: 0, limit: 0 }, board.admin)).messages;

test("M1 what the run has read is its own, and starts no other run; the rest starts the next one", async () => {
  const { task, run } = await working();
  expect((await board.send(task, "the garden")).effect).toBe("queued");
  await board.send(task, "the roof");
  expect(board.offers).toEqual([task, task]);
  const [garden, roof] = await offered(task);
  expect([garden?.text, roof?.text]).toEqual(["the garden", "the roof"]);
  await read(run, garden?.id ?? "");
  await board.keep();
  expect((await said(task)).map((message) => message.run_id)).toEqual([run, run, undefined]);
  expect((await offered(task)).map(({ text }) => text)).toEqual(["the roof"]);
  await board.end(run, "succeeded");
  await board.keep();
  expect(await inputs(task)).toEqual(["the house", "the roof"]);
});

test("M1 nothing starts when everything was read, also what an event names twice", async () => {
  const { task, run } = await working();
  await board.send(task, "the garden");
  await board.send(task, "later", { hold: true });
  const [garden] = await offered(task);
  await read(run, garden?.id ?? "", garden?.id ?? "", "unknown");
  await board.end(run, "succeeded");
  await board.keep();
  expect([await inputs(task), (await board.get(task)).run_state]).toEqual([["the house"], "succeeded"]);
  await board.send(task, "now");
  expect(await inputs(task)).toEqual(["the house", "later\n\nnow"]);
});

test("M1 a start right behind the end does not give again what the run had read", async () => {
  const { task, run } = await working();
  await board.send(task, "the garden");
  const [garden] = await offered(task);
  await read(run, garden?.id ?? "");
  await board.end(run, "succeeded");
  // The keeper has seen none of it yet.
  expect((await board.send(task, "the roof")).effect).toBe("started");
  await board.keep();
  expect(await inputs(task)).toEqual(["the house", "the roof"]);
});

test("M1 the same work again is asked with what was said meanwhile", async () => {
  const { task, run } = await working();
  await board.send(task, "the garden");
  const [garden] = await offered(task);
  await read(run, garden?.id ?? "");
  await board.end(run, "failed", "no");
  await board.keep();
  await board.tasks.startTask({ task, fresh: false }, board.admin);
  expect(await inputs(task)).toEqual(["the house", "the house\n\nthe garden"]);
});

test("M2 what was said before the run worked is offered when it does; a run that ends is offered nothing", async () => {
  const { task, run } = await working();
  await sql()`UPDATE runs SET state = 'queued' WHERE id = ${run}`;
  await board.send(task, "the garden");
  expect(await offered(task)).toEqual([]);
  board.offers.length = 0;
  await sql()`UPDATE runs SET state = 'running' WHERE id = ${run}`;
  await board.keep();
  expect([board.offers, (await offered(task)).length]).toEqual([[task], 1]);
  await sql()`UPDATE runs SET cancel_requested_at = now() WHERE id = ${run}`;
  expect(await offered(task)).toEqual([]);
});

test("M3 files, what follows them and what is held wait for the next run", async () => {
  const { task } = await working();
  await sql()`
    INSERT INTO uploads (id, workspace_id, name, media_type, size_bytes, hash, bytes, created_by)
    SELECT 'upl_1', id, 'a.txt', 'text/plain', 1, '', 'x'::bytea, 'u' FROM workspaces WHERE name = 'default'`;
  await board.send(task, "first");
  await board.send(task, "held", { hold: true });
  await board.send(task, "second");
  await board.send(task, "see this", { uploads: ["upl_1"] });
  await board.send(task, "and then");
  expect((await offered(task)).map(({ text }) => text)).toEqual(["first", "second"]);
});
