import { afterAll, beforeAll, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { ChatApi } from "../gateway/api/chat.ts";
import type { Call } from "../gateway/operation.ts";
import { createChatApi } from "./chat-api.ts";
import { appendToChat } from "./chat-store.ts";

let tenant: Tenant;
let api: ChatApi;
let workspaceId: string;
let ada: Call;
let bob: Call;

beforeAll(async () => {
  tenant = await startTenant();
  api = createChatApi(tenant);
  workspaceId = (await tenant.access.workspace(tenant.admin, "default", "read")).id;
  ada = tenant.as(await tenant.user("ada", ["runs"], { workspace: "default", role: "member" }));
  bob = tenant.as(await tenant.user("bob", ["runs"], { workspace: "default", role: "member" }));
  for (let n = 1; n <= 5; n += 1) await say("ada", `chat-${n}`, n % 2 === 0 ? "helper" : "writer", 3);
  await say("bob", "chat-1", "writer", 1);
});

afterAll(() => tenant[Symbol.asyncDispose]());

let runs = 0;

async function say(user: string, chatId: string, assistantId: string, messages: number): Promise<void> {
  runs += 1;
  const said = Array.from({ length: messages }, (_, n) => ({
    role: n % 2 === 0 ? "user" : "assistant",
    content: `${n}`,
  }));
  const chat = { workspaceId, userId: `user:${user}`, chatId, runId: `run_${runs}`, assistantId };
  await appendToChat(tenant.store.sql, chat, said);
}

const list = (call: Call, more = {}) => api.listChats({ workspace: "default", limit: 0, cursor: "", ...more }, call);
const messages = (chat: string, call: Call, more = {}) =>
  api.listChatMessages({ workspace: "default", chat, limit: 0, cursor: "", ...more }, call);

test("a person sees own chats only, the one spoken in last first, page by page", async () => {
  expect((await list(ada)).chats.map(({ id }) => id)).toEqual(["chat-5", "chat-4", "chat-3", "chat-2", "chat-1"]);
  const [own] = (await list(bob)).chats;
  expect(own).toMatchObject({ id: "chat-1", assistant: "writer", messages: 1 });
  expect((await list(tenant.as(tenant.admin))).chats).toEqual([]);
  const pages: string[][] = [];
  let cursor = "";
  do {
    const page = await list(ada, { limit: 2, cursor });
    pages.push(page.chats.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== "");
  expect(pages).toEqual([["chat-5", "chat-4"], ["chat-3", "chat-2"], ["chat-1"]]);
});

test("what was said is read newest first, page by page, with the run that said it", async () => {
  const first = await messages("chat-1", ada, { limit: 2 });
  expect(first.messages.map(({ message }) => message?.["content"])).toEqual(["2", "1"]);
  expect(first.messages[0]).toMatchObject({ run_id: "run_1", message: { role: "user" } });
  const rest = await messages("chat-1", ada, { limit: 2, cursor: first.next_cursor });
  expect(rest.messages.map(({ message }) => message?.["content"])).toEqual(["0"]);
  expect(rest.next_cursor).toBe("");
  for (const cursor of ["x", "-1", "9".repeat(30)]) {
    expect((await refusal(messages("chat-1", ada, { cursor }))).code).toBe("invalid_argument");
    expect((await refusal(list(ada, { cursor }))).code).toBe("invalid_argument");
  }
});

test("a page of large messages is cut where it grows too large, and goes on from there", async () => {
  const chat = { workspaceId, userId: "user:bob", chatId: "large", runId: "run_large", assistantId: "writer" };
  const large = Array.from({ length: 12 }, (_, n) => ({ role: "user", content: `${n}${"x".repeat(500 * 1024)}` }));
  await appendToChat(tenant.store.sql, chat, large);
  const seen: string[] = [];
  let cursor = "";
  let pages = 0;
  do {
    const page = await messages("large", bob, { cursor });
    seen.push(...page.messages.map(({ message }) => String(message?.["content"]).replaceAll("x", "")));
    cursor = page.next_cursor;
    pages += 1;
  } while (cursor !== "");
  expect(seen).toEqual(Array.from({ length: 12 }, (_, n) => String(11 - n)));
  expect(pages).toBeGreaterThan(1);
});

test("a token for some assistants sees the chats with these", async () => {
  const limited = tenant.as({ ...ada.caller, assistants: ["helper"] });
  expect((await list(limited)).chats.map(({ id }) => id)).toEqual(["chat-4", "chat-2"]);
  expect((await refusal(messages("chat-1", limited))).code).toBe("not_found");
});

test("a deleted chat is gone for its person and for nobody else", async () => {
  const one = { workspace: "default", chat: "chat-1" };
  await api.deleteChat(one, ada);
  expect((await refusal(api.getChat(one, ada))).code).toBe("not_found");
  expect((await refusal(api.deleteChat(one, ada))).code).toBe("not_found");
  expect((await api.getChat(one, bob)).chat).toMatchObject({ id: "chat-1", messages: 1 });
  const stranger = tenant.as(await tenant.user("otto", ["runs"]));
  expect((await refusal(api.getChat(one, stranger))).message).toContain("workspace default was not found");
});
