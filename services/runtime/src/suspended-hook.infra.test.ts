/** A run with real hooks that waits for a person between them. */

import { expect, test } from "vitest";

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
