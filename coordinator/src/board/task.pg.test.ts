import * as proto from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { type BoardFixture, startBoard } from "./testing/board-fixture.ts";

let board: BoardFixture;

beforeEach(async () => {
  board = await startBoard();
});

afterEach(async () => {
  await board[Symbol.asyncDispose]();
});

const update = (part: object): proto.UpdateTaskRequest => proto.UpdateTaskRequest.fromPartial(part as never);
const list = async (part: object = {}): Promise<proto.ListTasksResponse> =>
  board.tasks.listTasks(proto.ListTasksRequest.fromPartial({ workspace: "default", ...part } as never), board.admin);

test("what a person says becomes a task with a key, a title by rule and the message as its first", async () => {
  const first = await board.create({ title: "", message: "Compare the three hotels. Then write a mail." });
  const second = await board.create({ title: "Second" });
  expect([first.key, second.key, first.title]).toEqual(["T-1", "T-2", "Compare the three hotels"]);
  expect([first.category, first.run_state, first.created_by]).toEqual(["todo", "idle", "user:admin"]);
  const page = await board.tasks.listTaskMessages({ task: "t-1", before_seq: 0, limit: 0 }, board.admin);
  expect(page.messages).toMatchObject([{ seq: 1, role: "user", author: "admin", message: { type: "text" } }]);
});

test("keys are dense, whatever is created at once and whatever is refused", async () => {
  const wishes = Array.from({ length: 30 }, (_, i) =>
    board.create({ title: `n${i}`, ...(i % 3 === 0 ? { assignee: "nobody" } : {}) }),
  );
  const made = (await Promise.allSettled(wishes)).flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  expect(made.map(({ key }) => Number(key.slice(2))).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, i) => i + 1),
  );
});

test("an idempotency key makes one task, and another request under it is refused", async () => {
  const wishes = Array.from({ length: 20 }, () => board.create({ title: "Once", idempotency_key: "k1" }));
  expect(new Set((await Promise.all(wishes)).map(({ id }) => id)).size).toBe(1);
  expect((await refusal(board.create({ title: "Other", idempotency_key: "k1" }))).code).toBe("already_exists");
  expect((await list()).total).toBe(1);
});

test("50 starts at once give exactly one run", async () => {
  const task = await board.create();
  const starts = Array.from({ length: 50 }, () => board.tasks.startTask({ task: task.id, fresh: false }, board.admin));
  const answers = await Promise.all(starts);
  expect(answers.filter(({ started }) => started)).toHaveLength(1);
  expect(new Set(answers.map((answer) => answer.task?.run_id)).size).toBe(1);
  expect((await board.get(task.id)).attempts).toBe(1);
});

test("a stale write is refused with the task as it is, and says that it must not be sent again as it is", async () => {
  const task = await board.create();
  await board.tasks.updateTask(update({ task: task.id, revision: task.revision, title: "Hers" }), board.admin);
  const stale = board.tasks.updateTask(update({ task: task.id, revision: task.revision, title: "His" }), board.admin);
  await expect(stale).rejects.toMatchObject({
    code: "aborted",
    details: { code: "revision_conflict", should_retry: false, task: { title: "Hers", revision: task.revision + 1 } },
  });
  expect((await board.get(task.id)).title).toBe("Hers");
});

test("cards stand where they are moved to, also when many move at once", async () => {
  const made = [];
  for (const title of ["a", "b", "c", "d"]) made.push(await board.create({ title }));
  const [a, b, c, d] = made.map(({ id }) => id) as [string, string, string, string];
  const move = (task: string, part: object = {}): Promise<unknown> =>
    board.tasks.moveTask(
      proto.MoveTaskRequest.fromPartial({ task, column: "In progress", ...part } as never),
      board.admin,
    );
  await move(a);
  await move(b, { after: a });
  await move(c, { before: b });
  await move("T-4");
  const order = async (): Promise<string[]> => (await list({ column: "In progress" })).tasks.map(({ id }) => id);
  expect(await order()).toEqual([d, a, c, b]);
  await Promise.all([move(a, { after: b }), move(d, { after: b }), move(c)]);
  const ranks = (await list({ column: "In progress" })).tasks.map(({ rank }) => rank);
  expect(new Set(ranks).size).toBe(4);
  expect((await order())[0]).toBe(c);
  expect((await refusal(move(a, { after: "T-99" }))).code).toBe("not_found");
  expect(
    (
      await refusal(
        board.tasks.moveTask({ task: a, column: "Nowhere", after: "", before: "", revision: 0 }, board.admin),
      )
    ).message,
  ).toContain("To do");
});

test("tasks that would wait for each other are refused, and the circle is named", async () => {
  const a = await board.create({ title: "a" });
  const b = await board.create({ title: "b", blocked_by: [a.key] });
  const c = await board.create({ title: "c", blocked_by: [b.id] });
  const close = board.tasks.updateTask(update({ task: a.id, blocked_by: { items: ["T-3"] } }), board.admin);
  expect(await refusal(close)).toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("T-1 → T-3 → T-2 → T-1"),
  });
  expect((await board.get(a.id)).blocks.map(({ key }) => key)).toEqual(["T-2"]);
  expect((await board.get(c.id)).blocked_by.map(({ key }) => key)).toEqual(["T-2"]);
});

test("of two circles closed at once, at most one link is made", async () => {
  const a = await board.create({ title: "a" });
  const b = await board.create({ title: "b" });
  await Promise.allSettled([
    board.tasks.updateTask(update({ task: a.id, blocked_by: { items: [b.id] } }), board.admin),
    board.tasks.updateTask(update({ task: b.id, blocked_by: { items: [a.id] } }), board.admin),
  ]);
  const links = [...(await board.get(a.id)).blocked_by, ...(await board.get(b.id)).blocked_by];
  expect(links).toHaveLength(1);
});

test("filters give what their state says, totals are exact, and pages hold each task once", async () => {
  const titles = Array.from({ length: 25 }, (_, i) => `task ${i}`);
  const made = [];
  for (const title of titles) made.push(await board.create({ title, labels: title.endsWith("3") ? ["three"] : [] }));
  const [first, second] = made as [proto.Task, proto.Task];
  await board.create({ title: "waits", blocked_by: [first.id], start: true });
  await board.tasks.startTask({ task: second.id, fresh: false }, board.admin);
  for (const state of ["idle", "blocked", "queued", "running", "succeeded", "failed"]) {
    const page = await list({ run_state: state, limit: 200 });
    expect(page.tasks.map((task) => task.run_state)).toEqual(page.tasks.map(() => state));
    expect([state, page.total]).toEqual([state, { idle: 24, blocked: 1, queued: 1 }[state] ?? 0]);
  }
  expect((await list({ label: "three" })).total).toBe(3);
  const seen: string[] = [];
  for (let cursor = ""; ;) {
    const page = await list({ limit: 7, cursor });
    expect(page.total).toBe(26);
    seen.push(...page.tasks.map(({ key }) => key));
    cursor = page.next_cursor;
    if (cursor === "") break;
  }
  expect(seen).toEqual(Array.from({ length: 26 }, (_, i) => `T-${26 - i}`));
});

test("words of title, description and conversation are found in any script", async () => {
  const hotel = await board.create({ title: "Hotels in Berlin", description: "Größe egal" });
  const report = await board.create({ title: "", message: "帮我写一份周报。要简短" });
  await board.send(hotel.id, "and a café nearby", { hold: true });
  const found = async (query: string): Promise<string[]> => (await list({ query })).tasks.map(({ id }) => id);
  expect(await found("hotel berl")).toEqual([hotel.id]);
  expect(await found("CAFÉ hotels")).toEqual([hotel.id]);
  expect(await found("周报")).toEqual([report.id]);
  expect(await found("周简")).toEqual([]);
  expect(await found("t-2")).toEqual([report.id]);
  expect(await found("&|!")).toEqual([]);
  await board.tasks.updateTask(update({ task: hotel.id, title: "Rooms" }), board.admin);
  expect(await found("hotels")).toEqual([]);
});

test("archiving takes a card off the board; deleting needs that and takes everything along", async () => {
  const task = await board.create({ start: true });
  const archive = (restore = false): Promise<unknown> =>
    board.tasks.archiveTask({ task: task.id, restore }, board.admin);
  expect((await refusal(archive())).message).toContain("yao task stop T-1");
  await board.tasks.stopTask({ task: task.id }, board.admin);
  await board.keep();
  expect((await refusal(board.tasks.deleteTask({ task: task.id }, board.admin))).message).toContain("archive it first");
  await archive();
  await archive();
  expect([(await list()).total, (await list({ archived: true })).total]).toEqual([0, 1]);
  await archive(true);
  await archive();
  const actions = (await board.tasks.listActivity({ task: task.id, limit: 0, cursor: "" }, board.admin)).entries.map(
    ({ action }) => action,
  );
  expect(actions).toEqual(["archived", "restored", "archived", "ended", "moved", "started", "created"]);
  await board.tasks.deleteTask({ task: task.id }, board.admin);
  expect((await refusal(board.get(task.id))).code).toBe("not_found");
  const [left] = await board.fleet.tenant.store.sql`SELECT 1 FROM runs WHERE id = ${task.run_id ?? ""}`;
  expect(left).toBeUndefined();
});

test("a batch is all or none, and each task of it has its activity", async () => {
  const a = await board.create({ title: "a" });
  const b = await board.create({ title: "b" });
  const batch = (part: object): Promise<proto.UpdateTasksResponse> =>
    board.tasks.updateTasks(
      proto.UpdateTasksRequest.fromPartial({ workspace: "default", tasks: [a.id, b.id], ...part } as never),
      board.admin,
    );
  expect((await batch({ action: "add_label", value: "x" })).tasks.map(({ labels }) => labels)).toEqual([["x"], ["x"]]);
  expect((await batch({ action: "move", value: "Done" })).tasks.map(({ category }) => category)).toEqual([
    "done",
    "done",
  ]);
  expect((await list({ column: "Done" })).tasks.map(({ key }) => key)).toEqual(["T-1", "T-2"]);
  expect((await refusal(batch({ tasks: [a.id, "T-9"], action: "priority", value: "high" }))).code).toBe("not_found");
  expect((await board.get(a.id)).priority).toBe("none");
});

test("a foreign task is not found, a viewer only looks, and only an owner deletes a board", async () => {
  const { tenant } = board.fleet;
  const task = await board.create({ start: true });
  const stranger = tenant.as(await tenant.user("bob", ["tasks"]));
  const viewer = tenant.as(await tenant.user("eve", ["tasks"], { workspace: "default", role: "viewer" }));
  const member = tenant.as(await tenant.user("mia", ["tasks"], { workspace: "default", role: "member" }));
  const get = (call: typeof viewer, ref = task.id): Promise<unknown> => board.tasks.getTask({ task: ref }, call);
  expect((await refusal(get(stranger))).code).toBe("not_found");
  expect((await refusal(get(stranger, "T-1"))).code).toBe("not_found");
  expect((await refusal(get(viewer, "T-1"))).code).toBe("ok");
  const writes = [
    () => board.tasks.updateTask(update({ task: task.id, title: "x" }), viewer),
    () => board.tasks.startTask({ task: task.id, fresh: false }, viewer),
    () => board.tasks.stopTask({ task: task.id }, viewer),
    () => board.tasks.deleteTask({ task: task.id }, viewer),
    () => board.create({}, viewer),
  ];
  for (const write of writes) expect((await refusal(write())).code).toBe("permission_denied");
  const { board: extra } = await board.boards.createBoard(
    { workspace: "default", name: "Second", columns: [] },
    member,
  );
  const remove = (call: typeof viewer): Promise<unknown> => board.boards.deleteBoard({ board: extra?.id ?? "" }, call);
  expect((await refusal(remove(member))).message).toContain("only an owner");
  expect((await refusal(remove(board.admin))).code).toBe("ok");
});

test("columns keep their category, a column with tasks stays, and the last board stays", async () => {
  const task = await board.create();
  const { boards } = await board.boards.listBoards({ workspace: "default" }, board.admin);
  const first = boards[0] as proto.Board;
  const change = (part: object): Promise<proto.UpdateBoardResponse> =>
    board.boards.updateBoard(
      proto.UpdateBoardRequest.fromPartial({ board: first.id, revision: first.revision, ...part } as never),
      board.admin,
    );
  const columns = first.columns.map((column) => ({ ...column }));
  expect((await refusal(change({ columns: columns.map((c) => ({ ...c, category: "done" })) }))).message).toContain(
    "which stays",
  );
  expect((await refusal(change({ columns: columns.filter(({ id }) => id !== task.column_id) }))).message).toContain(
    "still holds tasks",
  );
  const swapped = [columns[1], columns[0], ...columns.slice(2), { name: "Shipped", category: "done" }];
  const { board: next } = await change({ name: "Work", columns: swapped });
  expect(next?.columns.map(({ name }) => name)).toEqual([
    "To do",
    "Backlog",
    "In progress",
    "In review",
    "Done",
    "Shipped",
  ]);
  expect(next?.columns[0]?.tasks).toBe(1);
  expect((await refusal(change({ name: "Stale" }))).code).toBe("aborted");
  expect((await refusal(board.boards.deleteBoard({ board: first.id }, board.admin))).message).toContain("only board");
});

test("templates make tasks with their variables in place", async () => {
  const put = proto.PutTemplateRequest.fromPartial({
    workspace: "default",
    template: "weekly",
    title: "Report {{week}}",
    message: "Write {{week}}",
    priority: "high",
  });
  expect((await board.tasks.putTemplate(put, board.admin)).template?.variables).toEqual(["week"]);
  const task = await board.create({ title: "", template: "weekly", variables: { week: "W12" } });
  expect([task.title, task.priority]).toEqual(["Report W12", "high"]);
  expect((await refusal(board.create({ title: "", template: "weekly" }))).message).toContain("give a value for: week");
  await board.tasks.removeTemplate({ workspace: "default", template: "weekly" }, board.admin);
  expect((await board.tasks.listTemplates({ workspace: "default" }, board.admin)).templates).toEqual([]);
});

test("a workspace goes with its boards, tasks, runs and feed at once", async () => {
  const { tenant } = board.fleet;
  const { workspace } = await tenant.workspaces.createWorkspace({ name: "short-lived" }, board.admin);
  const first = await board.create({ workspace: "short-lived", title: "a" });
  await board.create({ workspace: "short-lived", title: "b", blocked_by: [first.key], parent: first.key });
  await board.number();
  const remove = (force: boolean): Promise<unknown> =>
    tenant.workspaces.deleteWorkspace({ workspace: "short-lived", force }, board.admin);
  expect((await refusal(remove(false))).message).toContain("holds 2 tasks");
  await remove(true);
  await board.number();
  for (const table of ["tasks", "boards", "feed_events", "feed_heads", "feed_outbox"]) {
    const rows = await tenant.store
      .sql`SELECT 1 FROM ${tenant.store.sql(table)} WHERE workspace_id = ${workspace?.id ?? ""}`;
    expect([table, rows.length]).toEqual([table, 0]);
  }
});

test("a key is of the workspace that is named with it, and of no other", async () => {
  await board.fleet.tenant.workspaces.createWorkspace({ name: "second" }, board.admin);
  const here = await board.create({ title: "here" });
  const there = await board.create({ workspace: "second", title: "there" });
  expect([here.key, there.key]).toEqual(["T-1", "T-1"]);
  expect((await refusal(board.get("T-1"))).message).toContain("default:T-1");
  expect([(await board.get("default:T-1")).id, (await board.get("second:t-1")).id]).toEqual([here.id, there.id]);
  expect((await refusal(board.create({ title: "x", blocked_by: [there.id] }))).code).toBe("not_found");
});

test("a message that is sent again under its key is one message and one run", async () => {
  const task = await board.create();
  const sends = Array.from({ length: 20 }, () => board.send(task.id, "go", { idempotency_key: "m1" }));
  expect(new Set((await Promise.all(sends)).map(({ effect }) => effect))).toEqual(new Set(["started"]));
  const { messages } = await board.tasks.listTaskMessages({ task: task.id, before_seq: 0, limit: 0 }, board.admin);
  expect([messages.length, (await board.get(task.id)).attempts]).toEqual([1, 1]);
  expect((await refusal(board.send(task.id, "stop", { idempotency_key: "m1" }))).code).toBe("already_exists");
});

test("a task without an assistant runs the workspace's default one, when several are there", async () => {
  const { store } = board.fleet.tenant;
  await store.sql`
    INSERT INTO assistants (workspace_id, id, app_id, name) SELECT workspace_id, 'zeta', app_id, 'Zeta' FROM assistants`;
  const unset = await board.create({ assistant: "" });
  const start = (task: string) => board.tasks.startTask({ task, fresh: false }, board.admin);
  expect((await refusal(start(unset.id))).message).toContain("yao workspace set WORKSPACE --default-assistant");
  await store.sql`UPDATE workspaces SET settings = settings || '{"default_assistant":"zeta"}'`;
  await start(unset.id);
  const [run] = await store.sql<{ assistant_id: string }[]>`SELECT assistant_id FROM runs WHERE task_id = ${unset.id}`;
  expect(run?.assistant_id).toBe("zeta");
});
