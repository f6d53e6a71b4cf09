/** Hooks that are stopped, whatever they do at that moment. In the real script host. */

import { isObject } from "@mesh/kernel";
import { afterAll, describe, expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { assistant, events, TestApp } from "./testing/app-run.ts";

const open: TestApp[] = [];

function appOf(...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const made = new TestApp(Object.assign({}, ...parts) as Record<string, string>);
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  return made;
}

afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

/** Message ids that were started and not ended, or ended twice. */
function unpaired(messages: readonly OutputMessage[]): readonly string[] {
  const balance = new Map<string, number>();
  for (const { type, props } of messages) {
    const { event, data } = props;
    const id = isObject(data) ? data["message_id"] : undefined;
    if (type !== "event" || typeof id !== "string") continue;
    if (event === "message_start") balance.set(id, (balance.get(id) ?? 0) + 1);
    if (event === "message_end") balance.set(id, (balance.get(id) ?? 0) - 1);
  }
  return [...balance].filter(([, count]) => count !== 0).map(([id]) => id);
}

test("an agent that a process calls ends at its time-out, and the caller goes on", async () => {
  const app = appOf(
    assistant("loop", { hooks: `function Next() { while (true) {} }` }),
    assistant("a", {
      hooks: `function Next(ctx) { return { data: Process("agent.Call", { assistant_id: "loop", messages: [{ role: "user", content: "x" }], timeout: 0.3 }).error }; }`,
    }),
  );
  expect((await app.run("a", "x")).outcome?.next).toBe("loop took longer than 0.3 s");
}, 5_000);

describe("cancel", () => {
  const CANCELS: Readonly<Record<string, string>> = {
    "a hook that never ends": `while (true) {}`,
    "a sleep": `time.Sleep(60000)`,
    "a command": `ctx.computer.Exec(["sleep", "60"])`,
    "a nested agent": `ctx.agent.Call("loop", [{ role: "user", content: "x" }])`,
    "many nested agents": `ctx.agent.All(Array.from({ length: 8 }, () => ({ agent: "loop", messages: [{ role: "user", content: "x" }] })))`,
    "a memory that does not answer": `ctx.memory.user.Get("hang")`,
    "a process of a script": `Process("scripts.loop.Loop")`,
    "a tool": `ctx.mcp.CallTool("m", "loop", {})`,
  };
  const FILES = {
    "mcps/m.mcp.yao": '{"label":"M","transport":"process","tools":{"loop":"scripts.loop.Loop"}}',
    "mapping/m/schemes/loop.in.yao": '{"type":"object"}',
    "scripts/loop.ts": `export function Loop() { while (true) {} }`,
    ...assistant("loop", { hooks: `function Next() { while (true) {} }` }),
  };

  for (const [what, script] of Object.entries(CANCELS)) {
    for (const hook of ["Create", "Next"]) {
      test(`of ${what} in ${hook}`, async () => {
        const app = appOf(
          FILES,
          assistant("a", { hooks: `function ${hook}(ctx) { ctx.Send("begun"); ${script}; return null; }` }),
        );
        app.hang();
        const stop = new AbortController();
        const running = app.run("a", "x", {
          chatId: "c",
          signal: stop.signal,
          onMessage: ({ type }) => {
            if (type === "text") setTimeout(() => stop.abort(), 50);
          },
        });
        const { error, messages } = await running;
        expect(error?.code).toBe("cancelled");
        expect(events(messages).filter((name) => name === "stream_end")).toHaveLength(1);
        expect(unpaired(messages)).toEqual([]);
        expect(JSON.stringify(messages.at(-1))).toContain('"cancelled"');
      }, 5_000);
    }
  }
});
