/** The notebook of the demo app shows hooks, memory, tools over a model, two languages and the trace: all of it at work. */

import { demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { afterAll, beforeAll, expect, test } from "vitest";

import { shown } from "../../services/runtime/src/testing/app-run.ts";
import { SpecApp } from "./spec-app.ts";

let app: SpecApp;

beforeAll(async () => {
  const decoder = new TextDecoder();
  const files = [...(await readAppDirectory(demoAppDirectory))].map(([path, bytes]) => [path, decoder.decode(bytes)]);
  app = await SpecApp.open(Object.fromEntries(files) as Record<string, string>);
});

afterAll(() => app?.[Symbol.asyncDispose]());

const ME = { userId: "me", chatId: "mine" };
const calling = (name: string, args: Record<string, unknown>) => [{ calls: [{ name, arguments: args }] }];

test("a note is kept by a tool, counted by the hook, and found again at the next visit, in another language", async () => {
  const first = await app.run("notebook", "Milk!", { ...ME, steps: calling("notes__add", { text: "Milk" }) });
  expect(first.error?.message).toBeUndefined();
  expect(first.outcome?.next).toEqual({ visit: 1, notes: 1 });
  expect(shown(first.messages).at(-1)).toEqual({ type: "text", props: { content: "Noted: Milk" } });
  expect(first.provider.requests[0]?.systemPrompt).toContain('notes add: {"text":"Milk"}');
  const steps = first.messages.filter(({ type }) => type === "trace").map(({ props }) => props["type"]);
  expect(steps).toEqual(["node_start", "node_complete", "complete"]);

  const second = await app.run("notebook", "?", { ...ME, locale: "zh-cn", steps: calling("notes__list", {}) });
  expect(second.outcome?.next).toEqual({ visit: 2, notes: 1 });
  expect(shown(second.messages).at(-1)).toEqual({ type: "text", props: { content: "- Milk" } });
  expect(JSON.stringify(second.messages)).toContain("统计你的来访");
});

test("a call that does not fit the tool is told to the model, which corrects it", async () => {
  const steps = [...calling("notes__add", {}), ...calling("notes__add", { text: "Tea" })];
  const { outcome, messages, provider } = await app.run("notebook", "Tea!", { steps });
  expect(outcome?.next).toMatchObject({ visit: 1 });
  expect(JSON.stringify(provider.requests[1]?.messages)).toContain('required property \\"text\\"');
  expect(shown(messages).at(-1)).toEqual({ type: "text", props: { content: "Noted: Tea" } });
});
