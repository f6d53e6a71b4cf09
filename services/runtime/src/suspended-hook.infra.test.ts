/** A run with real hooks that waits for a person between them. */

import { expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { assistant, TestApp } from "./testing/app-run.ts";

test("a run that waits between its hooks remembers what Create kept, and its trace and its messages count on", async () => {
  await using app = new TestApp(
    assistant("a", {
      prompt: "x",
      package: { options: { tools: ["ask_user"] } },
      hooks: `
        function Create(ctx) {
          ctx.memory.context.Set("kept", { by: "Create" });
          ctx.trace.Add({}, { label: "Before" });
          ctx.Send("hello");
          return { metadata: { mood: "good" } };
        }
        function Next(ctx, payload) {
          ctx.trace.Add({}, { label: "After" });
          return { data: [ctx.memory.context.Get("kept"), ctx.metadata.mood, payload.tools[0].result] };
        }`,
    }),
  );
  const ask = { name: "ask_user", arguments: { question: "Which one?" } };
  const first = await app.run("a", "x", { steps: [{ calls: [ask] }] });
  const [item] = first.suspended?.pending ?? [];
  expect(item).toMatchObject({ kind: "question", text: "Which one?" });
  const answers = [{ call_id: item?.id ?? "", decision: "answer", text: "blue" }];
  const resume = { state: first.suspended?.state ?? "", answers };
  const second = await app.run("a", "x", { input: { resume } });
  expect(second.error).toBeUndefined();
  // Its Next reads what the tools gave, the person's answer as well: the model is not asked again.
  expect(second.outcome?.next).toEqual([{ by: "Create" }, "good", "blue"]);
  expect(second.provider.requests).toEqual([]);
  const all = [...first.messages, ...second.messages];
  const nodes = all.filter(({ type, props }) => type === "trace" && props["type"] === "node_start");
  expect(nodes.map(({ props }) => (props["data"] as { readonly node: { readonly id: string } }).node.id)).toEqual([
    "N1",
    "N2",
  ]);
  const ends = all.filter(
    ({ type, props }) => type === "trace" && ["node_complete", "complete"].includes(props["type"] as string),
  );
  expect(ends.map(({ props }) => props["type"])).toEqual(["node_complete", "node_complete", "complete"]);
  const ids = [...new Set(all.flatMap(({ message_id: id }) => (id === undefined ? [] : [id])))];
  expect(ids).toEqual(ids.map((_, i) => `M${i + 1}`));
});

const TOOLS = {
  "mcps/m.mcp.yao": '{"label":"M","transport":"process","tools":{"act":"scripts.m.Act","say":"scripts.m.Say"}}',
  "mapping/m/schemes/act.in.yao": '{"type":"object"}',
  "mapping/m/schemes/say.in.yao": '{"type":"object"}',
  "scripts/m.ts": `
    export function Act(...args: any[]) { args.at(-1).memory.context.Incr("acts"); return { acted: true }; }
    export function Say(...args: any[]) { args.at(-1).SendStream("half"); return 1; }`,
};
const CALLS = [
  { name: "m__say", arguments: {} },
  { name: "m__act", arguments: {} },
];

test("the delegate of a run waits for an approval and goes on as itself; nothing is left open, the chat is kept at the end", async () => {
  await using app = new TestApp({
    ...TOOLS,
    ...assistant("front", {
      hooks: `function Create(ctx, messages) { ctx.memory.context.Set("from", "front"); return { delegate: { agent_id: "back", messages, options: { approve: ["act"] } } }; }`,
    }),
    ...assistant("back", {
      prompt: "x",
      package: { mcp: { servers: ["m"] } },
      hooks: `
        function Create(ctx, messages) { return { messages: [...messages, { role: "user", content: "more" }] }; }
        function Next(ctx, p) {
          ctx.Send("bye");
          return { data: { id: ctx.assistant_id, referer: ctx.referer, from: ctx.memory.context.Get("from"), acts: ctx.memory.context.Get("acts"), tools: p.tools.map((t) => t.tool), said: p.messages.map((m) => m.content) } };
        }`,
    }),
    ...assistant("later", { hooks: `function Next(ctx, p) { return { data: p.messages.map((m) => m.content) }; }` }),
  });
  const chat = { chatId: "c" };
  const first = await app.run("front", "hello", { ...chat, steps: [{ calls: CALLS }] });
  const [item] = first.suspended?.pending ?? [];
  expect(item).toMatchObject({ kind: "approval", tool: "m__act" });
  expect(openMessages(first.messages)).toEqual([]);
  const answers = [{ call_id: item?.id ?? "", decision: "approve" }];
  const resume = { state: first.suspended?.state ?? "", answers };
  const second = await app.run("front", "hello", { ...chat, input: { resume } });
  expect(second.error).toBeUndefined();
  expect(second.outcome?.next).toEqual({
    id: "back",
    referer: "agent",
    from: "front",
    acts: 1,
    tools: ["say", "act"],
    said: ["hello", "more"],
  });
  expect(openMessages([...first.messages, ...second.messages])).toEqual([]);
  expect((await app.run("later", "and", chat)).outcome?.next).toEqual(["hello", "half\n\nbye", "and"]);
});

test("an agent that another one called cannot wait: its caller is told, and the tool has not run", async () => {
  await using app = new TestApp({
    ...TOOLS,
    ...assistant("back", { prompt: "x", package: { mcp: { servers: ["m"] }, options: { approve: ["act"] } } }),
    ...assistant("front", {
      hooks: `function Next(ctx) { return { data: ctx.agent.Call("back", [{ role: "user", content: "x" }]).error }; }`,
    }),
  });
  const { outcome, suspended } = await app.run("front", "x", { steps: [{ calls: CALLS }] });
  expect(suspended).toBeUndefined();
  expect(outcome?.next).toContain("must ask a person");
});

/** Ids of messages that were started and not ended. */
function openMessages(messages: readonly OutputMessage[]): readonly string[] {
  const open = new Set<string>();
  for (const { type, props } of messages) {
    const data = (props["data"] ?? {}) as { readonly message_id?: string };
    if (type !== "event" || data.message_id === undefined) continue;
    if (props["event"] === "message_start") open.add(data.message_id);
    if (props["event"] === "message_end") open.delete(data.message_id);
  }
  return [...open];
}
