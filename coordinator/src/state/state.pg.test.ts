import { subjects } from "@mesh/bus";
import { type Json, MeshError, RunGroup } from "@mesh/kernel";
import { WorkspaceStateAnswer, WorkspaceStateRequest } from "@mesh/proto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type RunCore, type ScriptedNode, startRunCore, workFor } from "../runs/testing/run-core.ts";
import { dropEndedMemory } from "./memory-store.ts";
import { createStateRpc } from "./state-rpc.ts";

let core: RunCore;
let node: ScriptedNode;
let stop: AbortController;
let serving: Promise<unknown>;

beforeEach(async () => {
  core = await startRunCore();
  node = await core.addNode("a", { slots: 20 });
  stop = new AbortController();
  const echo = async (scope: object, method: string, args: readonly Json[]): Promise<Json> =>
    JSON.parse(JSON.stringify({ scope, method, args })) as Json;
  const rpc = createStateRpc({ bus: core.bus, store: core.store, services: { models: echo } });
  serving = new RunGroup().add(rpc).run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await serving;
  await core[Symbol.asyncDispose]();
});

interface Asker {
  (service: string, method: string, ...args: Json[]): Promise<Json | undefined>;
}

async function askerOf(
  over: { chat?: string; user?: string; workspace?: string; epoch?: number } = {},
): Promise<Asker> {
  const draft = core.draft({
    metadata: over.chat === undefined ? {} : { chat_id: over.chat },
    createdBy: over.user ?? "user:ann",
    workspaceId: over.workspace ?? core.workspaceId,
  });
  const run = await core.dispatcher.create(draft);
  const work = await workFor(node, run);
  return asker(node.digest, run, over.epoch ?? work.epoch);
}

function asker(digest: string, run_id: string, epoch: number): Asker {
  const link = core.hub.connect();
  return async (service, method, ...args) => {
    const request = WorkspaceStateRequest.fromPartial({
      run_id,
      epoch,
      service,
      method,
      args_json: JSON.stringify(args),
    });
    const answer = await link.request(
      subjects.rpc(digest, "workspace"),
      WorkspaceStateRequest.encode(request).finish(),
      {
        timeoutMs: 10_000,
      },
    );
    const { result_json: text } = WorkspaceStateAnswer.decode(answer);
    return text === "" ? undefined : (JSON.parse(text) as Json);
  };
}

describe("memory", () => {
  test("every method works over the mesh, and nothing it cannot hold is refused silently", async () => {
    const ask = await askerOf({ chat: "c1" });
    for (const space of ["user", "team", "chat"]) {
      expect(await ask("memory", "Get", space, "k")).toBeNull();
      expect(await ask("memory", "Set", space, "k", { nul: "a\u0000b", lone: "\ud800" })).toBeUndefined();
      expect(await ask("memory", "Get", space, "k")).toEqual({ nul: "a\u0000b", lone: "\ud800" });
      expect(await ask("memory", "Push", space, "list", [1, 2, 3])).toBe(3);
      expect(await ask("memory", "Pull", space, "list", 2)).toEqual([2, 3]);
      expect(await ask("memory", "Keys", space)).toEqual(["k", "list"]);
      expect(await ask("memory", "Keys", space, "l*")).toEqual(["list"]);
      expect(await ask("memory", "GetDel", space, "k")).toMatchObject({ lone: "\ud800" });
      expect(await ask("memory", "Len", space)).toBe(1);
      await ask("memory", "Set", space, "a_b", 1);
      await ask("memory", "Set", space, "axb", 2);
      await ask("memory", "Del", space, "a_*");
      expect(await ask("memory", "Keys", space)).toEqual(["axb", "list"]);
      await ask("memory", "Clear", space);
      expect(await ask("memory", "Len", space)).toBe(0);
    }
  });

  test("Y1: a hundred counts at once are a hundred counts", async () => {
    const ask = await askerOf();
    await Promise.all(Array.from({ length: 100 }, () => ask("memory", "Incr", "user", "n")));
    expect(await ask("memory", "Get", "user", "n")).toBe(100);
  });

  test("Y2: an entry that has ended is gone for every method, and a sweep removes it", async () => {
    const ask = await askerOf();
    await ask("memory", "Set", "user", "short", 1, 1000);
    await core.store.sql`UPDATE memory_entries SET expires_at = now() - interval '1 hour'`;
    expect(await ask("memory", "Get", "user", "short")).toBeNull();
    expect(await ask("memory", "Keys", "user")).toEqual([]);
    expect(await ask("memory", "Incr", "user", "short", 5)).toBe(5);
    await core.store.sql`UPDATE memory_entries SET expires_at = now() - interval '1 hour'`;
    expect(await dropEndedMemory(core.store.sql, 100)).toBe(1);
  });

  test("Y1: a count and a Clear at once are the one after the other, whichever comes first", async () => {
    const ask = await askerOf();
    for (let round = 0; round < 20; round += 1) {
      await ask("memory", "Set", "user", "n", 100);
      await Promise.all([
        ask("memory", "Incr", "user", "n"),
        ask("memory", round % 2 === 0 ? "Clear" : "Del", "user", ...(round % 2 === 0 ? [] : ["n*"])),
        ask("memory", "Incr", "user", "n"),
      ]);
      // Cleared after both, before both, or between them; 101 and 102 are counts of what was not there any more.
      expect([null, 1, 2]).toContain(await ask("memory", "Get", "user", "n"));
    }
  });

  test("what a text of the database cannot hold is refused as a key or a store, and is no reason to try for ever", async () => {
    const ask = await askerOf();
    await expect(ask("memory", "Set", "user", "\ud800", 1)).rejects.toThrow("a key");
    await expect(ask("memory", "Set", "user", "a\u0000", 1)).rejects.toThrow("a key");
    await expect(ask("store", "Get", "\u0000", "k")).rejects.toThrow("a store");
    await expect(ask("store", "Get", "s".repeat(10_000), "k")).rejects.toThrow("a store");
    await expect(ask("memory", "Keys", "user", "\u0000*")).rejects.toMatchObject({ code: "invalid_argument" });
    const wide = "漢";
    await ask("store", "Set", wide.repeat(200), wide.repeat(512), 1);
    expect(await ask("store", "Get", wide.repeat(200), wide.repeat(512))).toBe(1);
  });

  test("a value that grew beyond what one answer holds is refused with words, and can be read in parts", async () => {
    const ask = await askerOf();
    const piece = "漢".repeat(100_000);
    for (let n = 0; n < 4; n += 1) await ask("memory", "Push", "user", "list", [piece]);
    await expect(ask("memory", "Get", "user", "list")).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining("ask for less at a time") as unknown,
    });
    expect(await ask("memory", "ArraySlice", "user", "list", 0, 1)).toEqual([piece]);
  });

  test("a method that there is not, a bad key, a wrong type: an error that says so", async () => {
    const ask = await askerOf();
    await expect(ask("memory", "Nope", "user", "k")).rejects.toThrow("no method Nope");
    await expect(ask("memory", "Get", "user", "")).rejects.toThrow("a key");
    await expect(ask("memory", "Get", "planet", "k")).rejects.toThrow('no memory space "planet"');
    await ask("memory", "Set", "user", "k", "text");
    await expect(ask("memory", "Incr", "user", "k")).rejects.toThrow("a string");
    await expect(ask("memory", "Get", "chat", "k")).rejects.toThrow("belongs to no chat");
    await expect(ask("planets", "Get")).rejects.toThrow("no state service planets");
  });
});

describe("isolation", () => {
  test("Q2: users, chats and workspaces with equal names see nothing of each other", async () => {
    const other = core.draft().id.replace("run_", "ws_");
    await core.store.sql`INSERT INTO workspaces (id, name) VALUES (${other}, 'other')`;
    const ann = await askerOf({ chat: "c", user: "user:ann" });
    const bob = await askerOf({ chat: "c", user: "user:bob" });
    const elsewhere = await askerOf({ chat: "c", user: "user:ann", workspace: other });
    for (const space of ["user", "team", "chat"]) await ann("memory", "Set", space, "secret", space);
    await ann("store", "Set", "cache", "secret", 1);
    await ann("chat", "Append", [{ role: "user", content: "hi" }]);
    expect([await bob("memory", "Keys", "user"), await bob("memory", "Keys", "chat")]).toEqual([[], []]);
    // The members of a workspace are a team: it and its stores are shared.
    expect(await bob("memory", "Get", "team", "secret")).toBe("team");
    expect(await bob("store", "Get", "cache", "secret")).toBe(1);
    expect(await bob("chat", "History")).toEqual([]);
    for (const space of ["user", "team", "chat"]) expect(await elsewhere("memory", "Keys", space)).toEqual([]);
    expect(await elsewhere("store", "Keys", "cache")).toEqual([]);
    expect(await elsewhere("chat", "History")).toEqual([]);
  });

  test("Q1: only the node that holds the run's lease in that epoch is answered", async () => {
    const stranger = await core.addNode("b", { slots: 1, silent: true });
    const run = await core.dispatcher.create(core.draft());
    const work = await workFor(node, run);
    await expect(asker(stranger.digest, run, work.epoch)("memory", "Keys", "user")).rejects.toThrow("does not hold");
    await expect(asker(node.digest, run, work.epoch + 1)("memory", "Keys", "user")).rejects.toThrow("does not hold");
    await node.send(work, 1, [{ kind: "run.finished", body: { state: "succeeded", output: "" } }]);
    await expect
      .poll(async () =>
        asker(node.digest, run, work.epoch)("memory", "Keys", "user").catch(
          (error: unknown) => MeshError.from(error).code,
        ),
      )
      .toBe("failed_precondition");
  });

  test("what a run says about itself changes nothing: the scope comes from its row", async () => {
    const ask = await askerOf({ chat: "c", user: "user:ann" });
    expect(await ask("models", "Find", { workspaceId: "x" })).toMatchObject({
      method: "Find",
      args: [{ workspaceId: "x" }],
      scope: { workspaceId: core.workspaceId, userId: "user:ann", chatId: "c" },
    });
  });
});

describe("chats", () => {
  test("later runs of the chat begin with what was said, once, oldest first, the newest kept", async () => {
    const first = await askerOf({ chat: "c" });
    const said = [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
    ];
    await first("chat", "Append", said);
    await first("chat", "Append", said);
    const second = await askerOf({ chat: "c" });
    await second("chat", "Append", [{ role: "user", content: "three" }]);
    expect(await second("chat", "History")).toEqual([...said, { role: "user", content: "three" }]);
    expect(await second("chat", "History", 1)).toEqual([{ role: "user", content: "three" }]);
  });

  test("a chat of long messages in wide characters goes on: what does not fit is left out, the oldest first", async () => {
    const first = await askerOf({ chat: "c" });
    await first("chat", "Append", [{ role: "user", content: "漢".repeat(150_000) }]);
    const second = await askerOf({ chat: "c" });
    await second("chat", "Append", [{ role: "user", content: "字".repeat(150_000) }]);
    const history = (await second("chat", "History")) as readonly { readonly content: string }[];
    expect(history.map(({ content }) => content[0])).toEqual(["字"]);
  });

  test("a chat whose name is too long is refused with words", async () => {
    const ask = await askerOf({ chat: "c".repeat(300) });
    await expect(ask("chat", "History")).rejects.toThrow("chat_id");
  });

  test("bad messages are refused whole", async () => {
    const ask = await askerOf({ chat: "c" });
    await expect(ask("chat", "Append", ["text"])).rejects.toThrow("messages {role, content}");
    await expect(ask("chat", "Append", [{ role: "user", content: "x".repeat(600 * 1024) }])).rejects.toThrow();
    expect(await ask("chat", "History")).toEqual([]);
  });
});
