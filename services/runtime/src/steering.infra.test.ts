/** What people say to a run while it works, in whole runs with a scripted model. */

import type { StreamConfig } from "@mesh/llm";
import { afterEach, expect, test } from "vitest";

import type { SteeringMessage } from "./steering.ts";
import { type AppRun, type AppRunOptions, assistant, TestApp } from "./testing/app-run.ts";

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

function appOf(files: Readonly<Record<string, string>>): TestApp {
  const made = new TestApp(files);
  open.push(made);
  return made;
}

/** A box that a test puts messages into. */
class Box {
  #messages: SteeringMessage[] = [];

  say(id: string, text: string): void {
    this.#messages.push({ id, text });
  }

  readonly take = (): readonly SteeringMessage[] => this.#messages.splice(0);

  get left(): number {
    return this.#messages.length;
  }
}

/** What was read, as the stream tells it. */
const read = ({ messages }: AppRun): unknown[] =>
  messages.filter(({ type }) => type === "steered").map(({ props }) => props["message_id"]);

/** What users said in a question to the model. */
const asked = (request: StreamConfig | undefined): string[] =>
  (request?.messages ?? [])
    .filter(({ role }) => role === "user")
    .map(({ content }) => content.map((part) => (part.type === "text" ? part.text : part.type)).join(""));

const run = (app: TestApp, box: Box, options: AppRunOptions): Promise<AppRun> =>
  app.run("a", "go", { chatId: "c", ...options, steering: box });

test("S1 a message that comes while the model answers goes into the next question, and the run goes on with it", async () => {
  const app = appOf(assistant("a", { prompt: "x" }));
  const box = new Box();
  const steps = [
    () => {
      box.say("m1", "and the garden");
      box.say("m2", "and the roof");
      return { text: "The house." };
    },
    { text: "House, garden, roof." },
  ];
  const told = await run(app, box, { steps });
  expect([told.error, told.outcome?.output]).toEqual([undefined, "House, garden, roof."]);
  expect(told.provider.requests.map(asked)).toEqual([["go"], ["go", "and the garden", "and the roof"]]);
  expect(read(told)).toEqual(["m1", "m2"]);
  const next = await run(app, box, { steps: [{ text: "ok" }] });
  expect([asked(next.provider.requests[0]), read(next)]).toEqual([["go", "and the garden", "and the roof", "go"], []]);
});

test("S2 what comes when the model may not be asked again is not taken and not told", async () => {
  const box = new Box();
  const late = [
    () => {
      box.say("m1", "wait");
      return { text: "Done." };
    },
  ];
  const limited = appOf(assistant("a", { prompt: "x", package: { mcp: { options: { max_turn: 1 } } } }));
  const hooked = appOf(
    assistant("a", { prompt: "x", hooks: "function Next(ctx, payload) { return { data: 'by the hook' }; }" }),
  );
  for (const app of [limited, hooked]) {
    const told = await run(app, box, { steps: late });
    expect([told.error, told.provider.requests.length, read(told), box.left]).toEqual([undefined, 1, [], 1]);
    box.take();
  }
});

test("S2 a message whose question was never asked is not told as read", async () => {
  const app = appOf(assistant("a", { prompt: "x" }));
  const box = new Box();
  const stop = new AbortController();
  const steps = [
    () => {
      box.say("m1", "wait");
      stop.abort();
      return { text: "Done." };
    },
  ];
  const told = await run(app, box, { steps, signal: stop.signal });
  expect([told.error?.code, read(told)]).toEqual(["cancelled", []]);
});

test("S1 agents that an agent calls do not hear it", async () => {
  const app = appOf({
    ...assistant("a", {
      prompt: "x",
      hooks: `function Create(ctx) { const r = ctx.agent.Call("b", [{ role: "user", content: "help" }]); return { metadata: {} }; }`,
    }),
    ...assistant("b", { prompt: "y" }),
  });
  const box = new Box();
  const steps = [
    () => {
      box.say("m1", "hurry");
      return { text: "helped" };
    },
    { text: "first" },
  ];
  const told = await run(app, box, { steps });
  expect(told.error).toBeUndefined();
  expect(told.provider.requests.map(asked)).toEqual([["help"], ["go", "hurry"]]);
  expect(read(told)).toEqual(["m1"]);
});
