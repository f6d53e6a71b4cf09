/** Conversations: in this process, against a coordinator at the wire. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type Ended, Person, runYao } from "../testing/run-yao.ts";
import { runJson, StubGateway, type StubRun } from "../testing/stub-gateway.ts";

let gateway: StubGateway;
let home: string;
let asked: { readonly assistant: string; readonly input: string; readonly chat: string }[];
let runs: StubRun[];

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
  asked = [];
  runs = [];
  gateway.route("POST", "/v1/workspaces/default/runs", ({ body }) => {
    asked.push(JSON.parse(body));
    const run = gateway.addRun({ id: `run_${asked.length}`, state: "running", events: [] });
    runs.push(run);
    return { status: 201, json: { run: runJson(run) } };
  });
});
afterEach(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

const yao = (...args: readonly string[]): Promise<Ended> => runYao({ url: gateway.url, home }, args);

/** The newest run says this and ends. */
async function answer(nth: number, content: string, state = "succeeded"): Promise<void> {
  const run = await until(() => runs[nth - 1], { what: `run ${nth}` });
  gateway.emit(run, { kind: "message", data: { type: "text", message_id: "M1", props: { content } } });
  gateway.finish(run, state, state === "failed" ? { code: "llm", message: "no model" } : undefined);
}

test("a text is said in the chat that is named, whether `with` is written or not", async () => {
  const plainly = yao("chat", "hello", "I am Ann", "--chat", "ann", "--node", "laptop");
  await answer(1, "Hello Ann");
  expect(await plainly).toMatchObject({ code: 0, out: "Hello Ann\n" });
  const spelled = yao("chat", "with", "hello", "Who am I?", "--chat", "ann");
  await answer(2, "Ann");
  expect(await spelled).toMatchObject({ code: 0, out: "Ann\n" });
  expect(asked).toMatchObject([
    { assistant: "hello", input: "I am Ann", chat: "ann", requirements: { node: "laptop" } },
    { assistant: "hello", input: "Who am I?", chat: "ann" },
  ]);
});

test("a chat without a name is a new one each time, and --last goes on with the newest of the assistant", async () => {
  const chats = [
    { id: "c3", assistant: "other" },
    { id: "c2", assistant: "hello" },
    { id: "c1", assistant: "hello" },
  ];
  gateway.route("GET", "/v1/workspaces/default/chats", () => ({ json: { chats, next_cursor: "" } }));
  for (const [i, flags] of [[], [], ["--last"]].entries()) {
    const said = yao("chat", "hello", "Hi", ...flags);
    await answer(i + 1, "Hi");
    expect((await said).code).toBe(0);
  }
  const ids = asked.map(({ chat }) => chat);
  expect(ids).toEqual([expect.stringMatching(/^chat_/), expect.stringMatching(/^chat_/), "c2"]);
  expect(ids[0]).not.toBe(ids[1]);
  const unknown = await yao("chat", "nobody", "Hi", "--last");
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("you have no chat with nobody") });
});

test("a failed answer to a text is the command's failure", async () => {
  const said = yao("chat", "hello", "Hi");
  await answer(1, "I", "failed");
  expect(await said).toMatchObject({ code: 1, err: expect.stringContaining("run_1 failed: no model") });
});

test("a person talks line by line in one chat; a failed or stopped answer does not end it, the end of the input does", async () => {
  const person = new Person();
  const ended = runYao({ url: gateway.url, home, person }, ["chat", "hello"]);
  const prompts = async (count: number): Promise<void> => {
    await until(() => person.seen.split("> ").length - 1 === count, { what: `prompt ${count}` });
  };
  await prompts(1);
  person.type("I am Ann");
  await answer(1, "Hello Ann");
  await prompts(2);
  person.type("");
  await prompts(3);
  person.type("Fail");
  await answer(2, "Oh", "failed");
  await prompts(4);
  person.type("Stop");
  await until(() => gateway.openStreams === 1, { what: "the third answer" });
  person.interrupt();
  await prompts(5);
  expect(runs[2]?.state).toBe("cancelled");
  person.end();
  expect((await ended).code).toBe(0);
  expect(asked.map(({ input }) => input)).toEqual(["I am Ann", "Fail", "Stop"]);
  expect(new Set(asked.map(({ chat }) => chat)).size).toBe(1);
  expect(person.seen).toContain(`go on later with \`yao chat hello --chat ${asked[0]?.chat}\``);
  expect(person.seen).toContain("Hello Ann\n> ");
});

test.each([
  [["hello"], "only people at a terminal"],
  [["hello", "--json"], "only people at a terminal"],
  [["hello", "Hi", "--chat", "a", "--last"], "choose --chat or --last"],
  [[], "missing required argument"],
])("%j is wrong usage", async (args, says) => {
  const ended = await yao("chat", ...args);
  expect([ended.code, ended.err]).toEqual([2, expect.stringContaining(says)]);
  expect(gateway.seen).toEqual([]);
});

test("chats are listed, shown in the order in which they were said, and forgotten", async () => {
  const chats = [{ id: "ann", assistant: "hello", messages: 3, updated_at: "2026-01-01T00:00:00.000Z" }];
  gateway.route("GET", "/v1/workspaces/default/chats", () => ({ json: { chats, next_cursor: "n" } }));
  const list = await yao("chat", "list", "--limit", "1");
  expect(list.out).toMatch(/^ann +hello +3 /m);
  expect(list.out).toContain("more: yao chat list --cursor n\n");
  const messages = [
    { id: "3", message: { role: "assistant", content: [{ type: "text", text: "A dog\u001B[2J" }, { type: "image" }] } },
    { id: "2", message: { role: "assistant", content: null, tool_calls: [{ function: { name: "look" } }] } },
    { id: "1", message: { role: "user", content: "What is this?" } },
  ];
  gateway.route("GET", "/v1/workspaces/default/chats/ann/messages", () => ({ json: { messages, next_cursor: "1" } }));
  expect((await yao("chat", "show", "ann")).out).toBe(
    "earlier: yao chat show ann --cursor 1\nuser: What is this?\nassistant: [look]\nassistant: A dog[2J [image]\n",
  );
  gateway.route("DELETE", "/v1/workspaces/default/chats/ann", () => ({ json: {} }));
  expect(await yao("chat", "remove", "ann")).toMatchObject({ code: 0, out: "ann was forgotten\n" });
});
