import { FakeClock } from "@mesh/kernel/testing";
import {
  type InboxEntry,
  ListActivityRequest,
  ListInboxRequest,
  MoveTaskRequest,
  type Task,
  type TaskMessage,
} from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { appendToLogs } from "../runs/run-log.ts";
import { type BoardFixture, startBoard } from "./testing/board-fixture.ts";

let board: BoardFixture;
let clock: FakeClock;

beforeEach(async () => {
  clock = new FakeClock(Date.parse("2026-03-02T08:00:00Z"));
  board = await startBoard({ clock });
});

afterEach(async () => {
  await board[Symbol.asyncDispose]();
});

const inbox = async (kind = ""): Promise<readonly InboxEntry[]> =>
  (await board.inbox.listInbox({ workspace: "", kind, archived: false, limit: 0, cursor: "" }, board.admin)).entries;
const said = async (task: Task): Promise<string[]> => {
  const { messages } = await board.tasks.listTaskMessages({ task: task.id, before_seq: 0, limit: 200 }, board.admin);
  return messages.map(textOf);
};

function textOf({ role, message }: TaskMessage): string {
  const props = message?.["props"] as { content?: string } | undefined;
  return `${role}: ${props?.content ?? ""}`;
}

async function input(run: string | undefined): Promise<string> {
  const rows = await board.fleet.tenant.store.sql<{ input: string }[]>`SELECT input FROM runs WHERE id = ${run ?? ""}`;
  return rows[0]?.input ?? "";
}

test("people and runs make one conversation; a message during a run starts the next one when it ends", async () => {
  const task = await board.create({ title: "", message: "Count the files", start: true });
  expect((await board.get(task.id)).category).toBe("in_progress");
  expect((await board.send(task.id, "and the folders")).effect).toBe("queued");
  await board.say(task.run_id ?? "", "There are 12 files.");
  await board.end(task.run_id ?? "", "succeeded");
  await board.keep();
  const next = await board.get(task.id);
  expect([next.attempts, await input(next.run_id)]).toEqual([2, "and the folders"]);
  expect(next.last_line).toBe("There are 12 files.");
  expect(await said(task)).toEqual([
    "user: Count the files",
    "user: and the folders",
    "assistant: There are 12 files.",
  ]);
  await board.end(next.run_id ?? "", "succeeded");
  await board.keep();
  const done = await board.get(task.id);
  expect([done.run_state, done.category]).toEqual(["succeeded", "in_review"]);
  expect((await inbox("done")).map(({ task_key: key }) => key)).toEqual(["T-1", "T-1"]);
});

test("the history of the model is the task's, whoever of the workspace talks, and a fresh start knows nothing of it", async () => {
  const task = await board.create({ start: true });
  const { sql } = board.fleet.tenant.store;
  const chats = async (): Promise<unknown[]> =>
    (
      await sql<
        { chat: string }[]
      >`SELECT metadata ->> 'chat_id' AS chat FROM runs WHERE task_id = ${task.id} ORDER BY id`
    ).map(({ chat }) => chat);
  await board.end(task.run_id ?? "", "failed", "it broke");
  await board.keep();
  const mia = board.fleet.tenant.as(
    await board.fleet.tenant.user("mia", ["tasks"], { workspace: "default", role: "member" }),
  );
  await board.tasks.startTask({ task: task.id, fresh: false }, mia);
  await board.end((await board.get(task.id)).run_id ?? "", "succeeded");
  await board.keep();
  await board.tasks.startTask({ task: task.id, fresh: true }, mia);
  expect(await chats()).toEqual([task.id, task.id, `${task.id}.2`]);
  expect(await input((await board.get(task.id)).run_id)).toBe("Do it");
});

test("a question shows on the task and in the inbox, a text answers it, and both are in the conversation", async () => {
  const task = await board.create({ start: true });
  const run = task.run_id ?? "";
  await board.ask(run, "c1", "Which hotel?");
  await board.keep();
  const asking = await board.get(task.id);
  expect([asking.run_state, asking.pending.map(({ text }) => text)]).toEqual(["waiting", ["Which hotel?"]]);
  expect((await inbox("needs_input")).map(({ text }) => text)).toEqual(["waiting for your answer: Which hotel?"]);
  expect((await board.send(task.id, "The second")).effect).toBe("answered");
  await board.keep();
  expect(["queued", "running"]).toContain((await board.get(task.id)).run_state);
  expect(await inbox("needs_input")).toEqual([]);
  expect(await said(task)).toEqual(["user: Do it", "assistant: Which hotel?", "user: The second"]);
  const { entries } = await board.tasks.listActivity({ task: task.id, limit: 0, cursor: "" }, board.admin);
  expect(entries.slice(0, 2).map(({ action, actor }) => `${action} ${actor}`)).toEqual([
    "answered user:admin",
    "asked system",
  ]);
  expect((await board.send(task.id, "The second", { call_id: "c1" })).effect).toBe("answered");
  expect((await refusal(board.send(task.id, "The third", { call_id: "c1" }))).code).not.toBe("ok");
});

test("an approval needs a decision, and several questions need to be told apart", async () => {
  const task = await board.create({ start: true });
  await board.ask(task.run_id ?? "", "c1", "Delete it?", "approval");
  expect((await refusal(board.send(task.id, "yes"))).message).toContain("send the decision approve or deny");
  expect((await board.send(task.id, "", { decision: "deny" })).effect).toBe("answered");
  expect((await refusal(board.send(task.id, "x", { decision: "approve" }))).message).toContain("does not ask anything");
});

test("a blocked task starts by itself once what it waits for has succeeded, and stays with the reason when that failed", async () => {
  const first = await board.create({ title: "Build", start: true });
  const second = await board.create({ title: "Ship", blocked_by: [first.id], start: true });
  const manual = await board.create({ title: "Later", blocked_by: [first.id] });
  expect([second.run_state, second.run_reason, second.run_id]).toEqual(["blocked", "waits for T-1 (Build)", undefined]);
  await board.end(first.run_id ?? "", "failed", "no disk");
  await board.keep();
  expect(await board.get(second.id)).toMatchObject({
    run_state: "blocked",
    run_reason: expect.stringContaining("T-1 (Build) did not succeed"),
  });
  const { task: again } = await board.tasks.startTask({ task: first.id, fresh: false }, board.admin);
  await board.end(again?.run_id ?? "", "succeeded");
  await board.keep();
  expect([(await board.get(second.id)).attempts, (await board.get(manual.id)).attempts]).toEqual([1, 0]);
  expect((await board.get(second.id)).blocked_by.map(({ key }) => key)).toEqual(["T-1"]);
});

test("a failed run is tried again with growing pauses, then it is told", async () => {
  const task = await board.create({ start: true, max_retries: 2 });
  await board.end(task.run_id ?? "", "failed", "no network");
  await board.keep();
  const waits = await board.get(task.id);
  expect([waits.run_state, waits.retry_at]).toEqual(["failed", "2026-03-02T08:00:10.000Z"]);
  expect(waits.run_reason).toContain("no network; tried again at 2026-03-02T08:00:10.000Z");
  await clock.advance(10_000);
  await board.keep();
  const second = await board.get(task.id);
  expect([second.attempts, await input(second.run_id)]).toEqual([2, "Do it"]);
  await board.end(second.run_id ?? "", "lost");
  await board.keep();
  expect((await board.get(task.id)).retry_at).toBe("2026-03-02T08:00:30.000Z");
  await clock.advance(20_000);
  await board.keep();
  expect(await inbox()).toEqual([]);
  await board.end((await board.get(task.id)).run_id ?? "", "failed", "still no network");
  await board.keep();
  expect([(await board.get(task.id)).attempts, (await inbox("failed")).map(({ text }) => text)]).toEqual([
    3,
    ["still no network"],
  ]);
});

test("stopping cancels the run, the retry and the next start; what was said stays for the next one", async () => {
  const task = await board.create({ start: true, max_retries: 3 });
  await board.send(task.id, "one more thing");
  const stopped = await board.tasks.stopTask({ task: task.id }, board.admin);
  expect(stopped.task?.run_state).toBe("cancelled");
  await board.keep();
  await clock.advance(600_000);
  await board.keep();
  expect((await board.get(task.id)).attempts).toBe(1);
  await board.tasks.startTask({ task: task.id, fresh: false }, board.admin);
  expect(await input((await board.get(task.id)).run_id)).toBe("one more thing");
});

test("a task that cannot be started says why, and is started when it was mended", async () => {
  const first = await board.create({ start: true });
  const task = await board.create({ blocked_by: [first.id], start: true, assistant: "gone" });
  await board.end(first.run_id ?? "", "succeeded");
  await board.keep();
  expect(await board.get(task.id)).toMatchObject({
    run_state: "failed",
    run_reason: expect.stringContaining('"gone"'),
  });
  const { entries } = await board.inbox.listInbox(ListInboxRequest.fromPartial({ kind: "failed" }), board.admin);
  expect(entries).toMatchObject([{ task_id: task.id, text: expect.stringContaining('"gone"') }]);
  expect(entries[0]).toHaveProperty("run_id", undefined);
  await board.tasks.updateTask({ task: task.id, revision: 0, assistant: "hello" } as never, board.admin);
  expect((await board.tasks.startTask({ task: task.id, fresh: false }, board.admin)).started).toBe(true);
});

test("two keepers at once do everything once, and a keeper that is cut off in between leaves nothing half done", async () => {
  const task = await board.create({ start: true, message: "go" });
  const run = task.run_id ?? "";
  await board.say(run, "one", "two", "three");
  await board.end(run, "succeeded");
  // Every statement of the step fails once, from the last to the first.
  const { sql } = board.fleet.tenant.store;
  await sql.unsafe(
    `CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'cut off'; END $$`,
  );
  for (const table of ["task_runs", "inbox_entries", "task_activity", "task_words", "task_messages"]) {
    await sql.unsafe(`CREATE TRIGGER cut_off BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION cut()`);
    await board.keeper.look();
    await sql.unsafe(`DROP TRIGGER cut_off ON ${table}`);
    expect(await said(task)).toEqual(["user: go"]);
  }
  await Promise.all([board.keeper.look(), board.keeper.look(), board.keeper.look()]);
  await board.keep();
  expect(await said(task)).toEqual(["user: go", "assistant: one", "assistant: two", "assistant: three"]);
  expect(await inbox("done")).toHaveLength(1);
  const { entries } = await board.tasks.listActivity({ task: task.id, limit: 0, cursor: "" }, board.admin);
  expect(entries.map(({ action }) => action)).toEqual(["moved", "ended", "moved", "started", "created"]);
});

test("while a run is at work, the page tells where its events go on", async () => {
  const task = await board.create({ start: true, message: "go" });
  const run = task.run_id ?? "";
  await board.say(run, "one");
  await board.keep();
  await board.say(run, "two, not folded yet");
  const page = await board.tasks.listTaskMessages({ task: task.id, before_seq: 0, limit: 0 }, board.admin);
  expect([page.messages.map(textOf), page.run_id]).toEqual([["user: go", "assistant: one"], run]);
  const rest = await board.fleet.runs.listRunEvents({ run, after_seq: page.run_seq, limit: 0 }, board.admin);
  expect(rest.events.filter(({ kind }) => kind === "message")).toHaveLength(1);
});

test("a message that still streams is followed from its first piece, until it is stored whole", async () => {
  const task = await board.create({ start: true, message: "go" });
  const run = task.run_id ?? "";
  await board.say(run, "before");
  const { store } = board.fleet.tenant;
  const edge = (event: string, extra: object = {}): Record<string, unknown> => ({
    type: "event",
    props: { event, data: { message_id: "M9", type: "text", ...extra } },
  });
  const append = (body: Record<string, unknown>): Promise<unknown> =>
    store.sql.begin((tx) => appendToLogs(tx, [{ runId: run, kind: "message", body }]));
  await append(edge("message_start"));
  await append({ type: "text", message_id: "M9", delta: true, props: { content: "half" } });
  await board.keep();
  const page = (): ReturnType<typeof board.tasks.listTaskMessages> =>
    board.tasks.listTaskMessages({ task: task.id, before_seq: 0, limit: 0 }, board.admin);
  const open = await page();
  expect(open.messages.map(textOf)).toEqual(["user: go", "assistant: before"]);
  const rest = await board.fleet.runs.listRunEvents({ run, after_seq: open.run_seq, limit: 0 }, board.admin);
  expect(rest.events.map(({ data }) => data?.["type"])).toEqual(["event", "text"]);
  await append(edge("message_end", { extra: { content: "half and half" } }));
  await board.keep();
  const whole = await page();
  expect(whole.messages.map(textOf).at(-1)).toBe("assistant: half and half");
  expect(whole.run_seq).toBe(open.run_seq + 3);
});

test("a schedule starts its task once per due time, with two leaders too, across daylight saving", async () => {
  clock = new FakeClock(Date.parse("2026-03-28T12:00:00Z"));
  await board[Symbol.asyncDispose]();
  board = await startBoard({ clock });
  const task = await board.create();
  const schedule = {
    cron: "30 2 * * *",
    time_zone: "Europe/Berlin",
    missed: "skip",
    overlap: "skip",
    paused: false,
    message: "nightly",
  };
  const { task: set } = await board.tasks.putSchedule({ task: task.id, schedule }, board.admin);
  expect(set?.schedule?.next_at).toBe("2026-03-29T01:00:00.000Z");
  await clock.advance(Date.parse("2026-03-29T01:00:00Z") - clock.now());
  await Promise.all([board.keeper.look(), board.keeper.look()]);
  await board.keep();
  const first = await board.get(task.id);
  expect([first.attempts, await input(first.run_id), first.schedule?.next_at]).toEqual([
    1,
    "nightly",
    "2026-03-30T00:30:00.000Z",
  ]);
  await clock.advance(Date.parse("2026-03-30T00:30:00Z") - clock.now());
  await board.keep();
  expect((await board.get(task.id)).attempts).toBe(1);
  await board.end(first.run_id ?? "", "succeeded");
  await board.keep();
  await clock.advance(3 * 86_400_000);
  await board.keep();
  expect((await board.get(task.id)).attempts).toBe(1);
  await board.tasks.putSchedule({ task: task.id, schedule: { ...schedule, missed: "once" } }, board.admin);
  await clock.advance(3 * 86_400_000);
  await board.keep();
  expect((await board.get(task.id)).attempts).toBe(2);
  const rows = await board.fleet.tenant.store
    .sql`SELECT outcome FROM schedule_firings WHERE task_id = ${task.id} ORDER BY due_at`;
  expect(rows.map((row) => row["outcome"])).toEqual(["started", "skipped", "missed", "started"]);
});

test("files that tools wrote are what came of a task, each once", async () => {
  const task = await board.create({ start: true });
  const run = task.run_id ?? "";
  const call = (n: number, name: string, path: string): object => ({
    type: "event",
    props: {
      event: "message_end",
      data: {
        message_id: `M${n}`,
        type: "tool_call",
        tool_call: { id: `c${n}`, name, arguments: JSON.stringify({ path }) },
        extra: { content: "" },
      },
    },
  });
  const { sql } = board.fleet.tenant.store;
  const { appendToLogs } = await import("../runs/run-log.ts");
  const calls = [call(1, "write_file", "docs/a.md"), call(2, "read_file", "b.md"), call(3, "edit_file", "docs/a.md")];
  await sql.begin((tx) =>
    appendToLogs(
      tx,
      calls.map((body) => ({ runId: run, kind: "message", body: { ...body } })),
    ),
  );
  await board.keep();
  expect((await board.get(task.id)).outputs).toEqual([{ kind: "file", title: "a.md", target: "docs/a.md" }]);
});

test("webhooks are told of a task's creation, question, end and failure, and only those that want it", async () => {
  const { store } = board.fleet.tenant;
  await store.sql`
    INSERT INTO webhooks (id, workspace_id, url, events, sealed_secret, created_by)
    SELECT 'hook_' || e, w.id, 'https://example.com', CASE e WHEN 'all' THEN '{}'::text[] ELSE '{task.failed}' END, ''::bytea, 'user:admin'
    FROM workspaces w, unnest('{all,some}'::text[]) AS e WHERE w.is_default`;
  const told = async (hook: string): Promise<string[]> => {
    const rows = await store.sql<{ event: string }[]>`
      SELECT event FROM webhook_deliveries WHERE webhook_id = ${hook} AND event LIKE 'task.%' ORDER BY id`;
    return rows.map(({ event }) => event);
  };
  const runOf = async (title: string): Promise<string> => {
    const task = await board.create({ title, assistant: "hello", start: true });
    await board.keep();
    return (await board.get(task.id)).run_id ?? "";
  };
  const good = await runOf("good");
  await board.ask(good, "c1", "Which one?");
  await board.keep();
  await board.end(good, "succeeded");
  await board.keep();
  const bad = await runOf("bad");
  await board.end(bad, "failed", "no luck");
  await board.keep();
  const first = await board.create({ title: "first", start: true });
  const waiting = await board.create({ title: "waiting", assistant: "gone", blocked_by: [first.id], start: true });
  await board.end(first.run_id ?? "", "cancelled");
  await board.tasks.moveTask(MoveTaskRequest.fromPartial({ task: first.id, column: "done" }), board.admin);
  await board.keep();
  // Each start that fails is told, and none twice.
  await board.tasks.updateTask({ task: waiting.id, revision: 0, title: "again" } as never, board.admin);
  await store.sql`UPDATE tasks SET wants_start = true WHERE id = ${waiting.id}`;
  await Promise.all([board.keep(), board.keep()]);
  await board.keep();
  const { entries } = await board.inbox.listInbox(ListInboxRequest.fromPartial({ kind: "failed" }), board.admin);
  expect(entries.map(({ task_id: id }) => id === waiting.id)).toEqual([true, true, false]);
  const activity = await board.tasks.listActivity(ListActivityRequest.fromPartial({ task: waiting.id }), board.admin);
  expect(activity.entries.filter(({ action }) => action === "start_failed")).toHaveLength(2);
  expect((await told("hook_all")).toSorted()).toEqual([
    "task.created",
    "task.created",
    "task.created",
    "task.created",
    "task.failed",
    "task.failed",
    "task.failed",
    "task.needs_input",
    "task.succeeded",
  ]);
  expect(await told("hook_some")).toEqual(["task.failed", "task.failed", "task.failed"]);
});
