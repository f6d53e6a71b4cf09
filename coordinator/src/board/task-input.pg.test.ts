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

interface Row {
  readonly input: string;
  readonly options: { readonly messages?: readonly { readonly role: string; readonly content: readonly object[] }[] };
  readonly state: string;
}

const runs = async (task: string): Promise<readonly Row[]> =>
  board.fleet.tenant.store.sql<Row[]>`SELECT input, options, state FROM runs WHERE task_id = ${task} ORDER BY id`;

/** Stores an upload of the default workspace; returns its id. */
async function upload(name: string, expiresIn = "1 day"): Promise<string> {
  const id = board.fleet.tenant.ids.next("upl");
  await board.fleet.tenant.store.sql`
    INSERT INTO uploads (id, workspace_id, name, media_type, size_bytes, hash, bytes, created_by, expires_at)
    SELECT ${id}, id, ${name}, 'text/plain', 1, '', 'x'::bytea, 'u', now() + ${expiresIn}::interval FROM workspaces
    WHERE name = 'default'`;
  return id;
}

const text = (words: string): object => ({ type: "text", text: words });
const file = (id: string): object => ({ type: "file", file: { file_id: id } });

test("I2 files are parts of what the run is asked, each with its message", async () => {
  const [first, second] = [await upload("a.txt"), await upload("b.txt")];
  const task = await board.create({ title: "Read", message: "Read this", uploads: [first] });
  await board.send(task.id, "", { hold: true, uploads: [`__yao.attachment://${second}`] });
  await board.send(task.id, "and compare");
  const content = [text("Read this"), file(first), file(`__yao.attachment://${second}`), text("and compare")];
  expect(await runs(task.id)).toMatchObject([
    { input: "Read this\n\nand compare", options: { messages: [{ role: "user", content }] } },
  ]);
  const plain = await board.create({ message: "no files", start: true });
  expect((await runs(plain.id))[0]).toMatchObject({ input: "no files", options: {} });
});

test("I2 files without a word go with the task as it is written", async () => {
  const id = await upload("a.txt");
  const task = await board.create({ title: "Sum it up", uploads: [id], start: true });
  expect((await runs(task.id))[0]).toMatchObject({
    input: "Sum it up",
    options: { messages: [{ content: [text("Sum it up"), file(id)] }] },
  });
});

test("I1 the same work again has the same files, and its message shows them", async () => {
  const id = await upload("a.txt");
  const task = await board.create({ message: "Read this", uploads: [id], start: true });
  await board.end((await board.get(task.id)).run_id ?? "", "failed", "no");
  await board.keep();
  await board.tasks.startTask({ task: task.id, fresh: false }, board.admin);
  const [before, again] = await runs(task.id);
  expect(again?.options.messages?.[0]?.content).toEqual([text("Read this"), file(id)]);
  expect(again?.input).toBe(before?.input);
  const { messages } = await board.tasks.listTaskMessages({ task: task.id, before_seq: 0, limit: 0 }, board.admin);
  const props = { uploads: [id] };
  expect(messages).toMatchObject([{ message: { props } }, { message: { props } }]);
});

test("I3 what one run cannot carry starts the next one, and nothing is lost or said twice", async () => {
  const task = await board.create({ title: "Long" });
  const words = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"].map((letter) => letter.repeat(65_000));
  for (const each of words) await board.send(task.id, each, { hold: true });
  await board.tasks.startTask({ task: task.id, fresh: false }, board.admin);
  for (let guard = 0; (await board.get(task.id)).run_state !== "succeeded" && guard < 20; guard += 1) {
    await board.end((await board.get(task.id)).run_id ?? "", "succeeded");
    await board.keep();
  }
  const made = await runs(task.id);
  expect(made.length).toBeGreaterThan(1);
  expect(made.map(({ input }) => input).join("\n\n")).toBe(words.join("\n\n"));
  for (const { input, options } of made) {
    expect(Buffer.byteLength(input + JSON.stringify(options))).toBeLessThanOrEqual(768 * 1024);
  }
});

test("files that are not there, not any more, or that would go with an answer are refused", async () => {
  const old = await upload("old.txt", "-1 second");
  const fine = await upload("fine.txt");
  const task = await board.create({ title: "Read" });
  for (const wrong of ["upl_x", old]) {
    const refused = await refusal(board.send(task.id, "this", { uploads: [fine, wrong] }));
    expect([refused.code, refused.message]).toEqual(["not_found", expect.stringContaining(wrong)]);
    expect((await refusal(board.create({ message: "this", uploads: [wrong] }))).code).toBe("not_found");
  }
  await board.send(task.id, "go", { uploads: [fine] });
  const run = (await board.get(task.id)).run_id ?? "";
  await board.ask(run, "c1", "Which?");
  const answer = await refusal(board.send(task.id, "that", { uploads: [fine] }));
  expect([answer.code, answer.message]).toEqual(["failed_precondition", expect.stringContaining("hold")]);
});
