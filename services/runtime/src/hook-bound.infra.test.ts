/** What hooks may not break: sizes, ids, ends, secrets of the device. In the real script host. */

import { isObject, type Json, type JsonObject, systemClock } from "@mesh/kernel";
import { afterAll, describe, expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { assistant, events, TestApp } from "./testing/app-run.ts";

/** What one event may have on its way over the bus. */
const MAX_EVENT_BYTES = 768 * 1024;

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

function largest(messages: readonly OutputMessage[]): number {
  return Math.max(...messages.map((message) => Buffer.byteLength(JSON.stringify(message))));
}

function dataOf(next: Json | undefined): JsonObject {
  return isObject(next) ? next : {};
}

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

describe("one event fits into one message of the bus, whatever a hook does", () => {
  test.each([
    ["a message", `ctx.Send("x".repeat(1e6))`],
    ["a message of wide characters", `ctx.Send("漢".repeat(300000))`],
    ["a message of control characters", `ctx.Send("\\u0001".repeat(200000))`],
    ["metadata", `ctx.Send({ type: "text", props: { content: "x" }, metadata: { all: "x".repeat(1e6) } })`],
    [
      "a message that grows",
      `const id = ctx.SendStream("x"); for (let i = 0; i < 20; i++) ctx.Append(id, "x".repeat(60000)); ctx.End(id)`,
    ],
    [
      "an object that grows",
      `const id = ctx.SendStream({ type: "list", props: {} }); for (let i = 0; i < 20; i++) ctx.Set(id, "x".repeat(60000), "props.k" + i); ctx.End(id)`,
    ],
    ["a replacement", `const id = ctx.SendStream("x"); ctx.Replace(id, "x".repeat(1e6))`],
    [
      "metadata of a trace node",
      `const n = ctx.trace.Add(1, {}); for (let i = 0; i < 20; i++) n.SetMetadata("k" + i, "x".repeat(60000))`,
    ],
    ["a long key of it", `ctx.trace.Add(1, {}).SetMetadata("k".repeat(1e6), 1)`],
    ["a long id of a space", `ctx.trace.CreateSpace({ id: "s".repeat(1e6) })`],
    ["a long key of a space", `ctx.trace.CreateSpace({ id: "s" }).Set("k".repeat(1e6), 1)`],
  ])("%s", async (_what, script) => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Create(ctx) { let refused = ""; try { ${script}; } catch (e) { refused = e.message; } ctx.memory.context.Set("refused", refused); return null; }
          function Next(ctx) { return { data: { refused: ctx.memory.context.Get("refused") } }; }`,
      }),
    );
    const { outcome, error, messages } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(largest(messages)).toBeLessThan(MAX_EVENT_BYTES);
    // The hook is told, and may go on.
    expect(dataOf(outcome?.next)["refused"]).toMatch(/at most|most|fewer|smaller/);
    expect(unpaired(messages)).toEqual([]);
  });

  test("data of Next that no event holds fails the run with words, and the stream still ends", async () => {
    const app = appOf(assistant("a", { hooks: `function Next() { return { data: "x".repeat(2e6) }; }` }));
    const { error, messages } = await app.run("a", "x");
    expect(error?.code).toBe("resource_exhausted");
    expect(error?.message).toContain("Next");
    expect(events(messages).at(-1)).toBe("stream_end");
    expect(largest(messages)).toBeLessThan(MAX_EVENT_BYTES);
  });

  test("an agent that another one calls may answer more", async () => {
    const app = appOf(
      assistant("big", { hooks: `function Next() { return { data: "x".repeat(2e6) }; }` }),
      assistant("a", {
        hooks: `function Next(ctx) { return { data: ctx.agent.Call("big", [{ role: "user", content: "x" }]).response.next.length }; }`,
      }),
    );
    expect((await app.run("a", "x")).outcome?.next).toBe(2e6);
  });
});

describe("what only the system says", () => {
  test("a hook cannot forge the end of the stream or of a message", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const said = [];
            for (const event of ["stream_start", "stream_end", "message_end", "block_start"]) {
              try { ctx.Send({ type: "event", props: { event, data: {} } }); said.push("sent"); } catch (e) { said.push("refused"); }
            }
            ctx.Send({ type: "event", props: { event: "progress", data: { n: 1 } } });
            return { data: said };
          }`,
      }),
    );
    const { outcome, messages } = await app.run("a", "x");
    expect(outcome?.next).toEqual(["refused", "refused", "refused", "refused"]);
    expect(events(messages).filter((name) => name.startsWith("stream"))).toEqual(["stream_start", "stream_end"]);
    expect(events(messages)).toContain("progress");
  });
});

test("an id that a script has chosen is not given to another message", async () => {
  const app = appOf(
    assistant("a", {
      hooks: `function Next(ctx) { ctx.Send({ type: "text", props: { content: "mine" }, message_id: "M2" }); return { data: [ctx.Send("one"), ctx.MessageID()] }; }`,
    }),
  );
  expect((await app.run("a", "x")).outcome?.next).toEqual(["M3", "M4"]);
});

describe("ends", () => {
  test("H1: what a tool leaves open is ended, also where there is no Next hook", async () => {
    const app = appOf(
      {
        "mcps/m.mcp.yao": '{"label":"M","transport":"process","tools":{"say":"scripts.m.Say"}}',
        "mapping/m/schemes/say.in.yao": '{"type":"object"}',
        "scripts/m.ts": `export function Say(...args: any[]) { const ctx = args.at(-1); ctx.SendStream("half"); return 1; }`,
      },
      assistant("a", { prompt: "x", package: { mcp: { servers: ["m"] } } }),
    );
    const steps = [{ text: "", calls: [{ name: "m__say", arguments: {} }] }, { text: "done" }] as never;
    const { error, messages } = await app.run("a", "x", { steps });
    expect(error).toBeUndefined();
    expect(JSON.stringify(messages)).toContain("half");
    expect(unpaired(messages)).toEqual([]);
    expect(events(messages).at(-1)).toBe("stream_end");
  });

  test("T2: a trace node ends once, and nothing begins after the end of the trace", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Create(ctx) {
            const n = ctx.trace.Add(1, { label: "one" });
            n.Fail("broken"); n.Complete(1); n.Complete(2);
            ctx.trace.MarkComplete();
            ctx.trace.Add(2, { label: "late" });
            ctx.trace.Info("late");
            return null;
          }`,
      }),
    );
    const { messages, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    const trace = messages.filter(({ type }) => type === "trace").map(({ props }) => props["type"]);
    expect(trace).toEqual(["node_start", "node_failed", "complete"]);
  });

  test("R1: what a hook has put off ends with the run, and says nothing after the end of the stream", async () => {
    const app = appOf(
      {
        "scripts/late.ts": `
          export function Say() {
            for (let i = 0; i < 1000; i++) { console.log("late"); Process("stores.s.Incr", "said"); time.Sleep(5); }
          }`,
      },
      assistant("a", {
        hooks: `function Next(ctx) { time.After(0, "scripts.late.Say"); while (!Process("stores.s.Has", "said")) {} return { data: 1 }; }`,
      }),
      assistant("count", { hooks: `function Next(ctx) { return { data: Process("stores.s.Get", "said") }; }` }),
    );
    const { messages, outcome } = await app.run("a", "x");
    expect(outcome?.next).toBe(1);
    const count = messages.length;
    expect(messages.some(({ type }) => type === "log")).toBe(true);
    const said = async (): Promise<unknown> => (await app.run("count", "x")).outcome?.next;
    // A script that is told to end may still be on its way out.
    await said();
    const before = await said();
    await systemClock.sleep(200);
    expect(await said()).toBe(before);
    expect(messages).toHaveLength(count);
    expect(events(messages).at(-1)).toBe("stream_end");
    expect(messages.at(-1)?.type).toBe("event");
  });
});

describe("depth", () => {
  test("scripts side by side are not scripts inside of each other", async () => {
    const app = appOf(
      { "scripts/s.ts": `export function One(n: number) { return n; }` },
      assistant("a", {
        hooks: `function Next(ctx) { const all = All(Array.from({ length: 40 }, (_, n) => ({ process: "scripts.s.One", args: [n] }))); return { data: all.map((r) => r.error ?? r.data) }; }`,
      }),
    );
    expect((await app.run("a", "x")).outcome?.next).toEqual(Array.from({ length: 40 }, (_, n) => n));
  });

  test("scripts that call agents that call scripts end with an error", async () => {
    const app = appOf(
      {
        "scripts/s.ts": `export function Again() { return Process("agent.Call", { assistant_id: "a", messages: [{ role: "user", content: "x" }] }); }`,
      },
      assistant("a", {
        hooks: `function Next(ctx) { const r = Process("scripts.s.Again"); return { data: r.error ?? r.response.next }; }`,
      }),
    );
    expect((await app.run("a", "x")).outcome?.next).toContain("deep");
  });
});

describe("messages of programs", () => {
  test.each([
    ["tool_calls: null", `[{ role: "assistant", content: "a", tool_calls: null }, { role: "user", content: "q" }]`, ""],
    [
      "tool_calls of a wrong type",
      `[{ role: "assistant", content: "a", tool_calls: "x" }, { role: "user", content: "q" }]`,
      "tool_calls",
    ],
    ["a name of a wrong type", `[{ role: "user", name: 7, content: "q" }]`, "name"],
    [
      "a tool result with a number for an id",
      `[{ role: "tool", tool_call_id: 7, content: "q" }, { role: "user", content: "q" }]`,
      "tool_call_id",
    ],
    [
      "an image alone",
      `[{ role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] }]`,
      "",
    ],
    ["no user at all", `[{ role: "system", content: "s" }]`, "empty"],
  ])("%s", async (_what, list, refusal) => {
    const app = appOf(assistant("a", { prompt: "x", hooks: `function Create() { return { messages: ${list} }; }` }));
    const { error, outcome } = await app.run("a", "hello", { steps: [{ text: "ok" }] });
    if (refusal === "") expect([error, outcome?.output]).toEqual([undefined, "ok"]);
    else {
      expect(error?.code).toBe("invalid_argument");
      expect(error?.message).toContain(refusal);
    }
  });
});

describe("chats", () => {
  test("what is too long to keep is kept in part, and the run is not lost for it", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "x",
        hooks: `function Next(ctx, p) { return { data: p.messages.map((m) => JSON.stringify(m).length) }; }`,
      }),
    );
    const long = "漢".repeat(400_000);
    const first = await app.run("a", long, { chatId: "c", steps: [{ text: "ok" }] });
    expect(first.error).toBeUndefined();
    const second = await app.run("a", "and", { chatId: "c", steps: [{ text: "ok" }] });
    const [kept = 0] = (second.outcome?.next ?? []) as readonly number[];
    expect(kept).toBeGreaterThan(1000);
    expect(kept).toBeLessThan(300_000);
  });

  test("a run that failed or was cancelled leaves nothing", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `function Next(ctx, p) { ctx.Send("said"); if (p.messages.at(-1).content === "fail") throw new Error("no"); return { data: p.messages.length }; }`,
      }),
    );
    await app.run("a", "fail", { chatId: "c" });
    expect((await app.run("a", "x", { chatId: "c" })).outcome?.next).toBe(1);
  });
});

describe("what stays inside of the device", () => {
  test("no outcome of a call tells a script what went wrong inside", async () => {
    const app = appOf(
      assistant("b", { prompt: "x $ENV.SECRET" }),
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const ask = [{ role: "user", content: "x" }];
            return { data: [ctx.agent.Call("b", ask).error, Process("agent.Call", { assistant_id: "b", messages: ask }).error] };
          }`,
      }),
    );
    const env = (): never => {
      throw new TypeError("cannot read /home/somebody/.yao/secret");
    };
    const { outcome, error } = await app.run("a", "x", { input: { env } });
    expect(error).toBeUndefined();
    expect(outcome?.next).toEqual([expect.stringContaining("run_1"), expect.stringContaining("run_1")]);
    const failed = await app.run("b", "x", { input: { env } });
    expect(failed.error).toMatchObject({ code: "internal" });
    expect(JSON.stringify([outcome, failed.messages, failed.error?.message])).not.toContain("/home/");
  });

  test("losers of a race are ended, scripts as well", async () => {
    const app = appOf(
      {
        "scripts/s.ts": `
          export function Fast() { while (!Process("stores.s.Has", "slow")) {} return 1; }
          export function Slow() { Process("stores.s.Set", "slow", 1); for (let i = 0; i < 400; i++) { time.Sleep(10); console.log("tick"); } }`,
      },
      assistant("a", {
        hooks: `
          function Next(ctx) {
            Race([{ process: "scripts.s.Slow", args: [] }, { process: "scripts.s.Fast", args: [] }]);
            console.log("won");
            time.Sleep(600);
            return { data: 1 };
          }`,
      }),
    );
    const { messages, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    const texts = messages.filter(({ type }) => type === "log").map(({ props }) => props["text"]);
    expect(texts.slice(texts.indexOf("won") + 1).length).toBeLessThan(15);
  });

  test("file errors name the path of the workspace and no other", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Next(ctx) {
            const w = ctx.workspace, said = {};
            const attempt = (name, work) => { try { work(); said[name] = "done"; } catch (e) { said[name] = e.message; } };
            w.WriteFile("file", "x");
            w.WriteFile("dir/file", "x");
            attempt("long", () => w.ReadFile("n".repeat(300)));
            attempt("longWrite", () => w.WriteFile("n".repeat(300), "x"));
            attempt("overFile", () => w.MkdirAll("file/x"));
            attempt("mkdirFile", () => w.MkdirAll("file"));
            attempt("dirOverFile", () => w.Rename("dir", "file"));
            attempt("intoItself", () => w.Rename("dir", "dir/sub"));
            attempt("nul", () => w.ReadFile("a\\u0000b"));
            attempt("removeDir", () => w.Remove("dir"));
            attempt("stat", () => w.Stat("n".repeat(300)));
            attempt("exec", () => ctx.computer.Exec(["/no/such/program"]));
            return { data: said };
          }`,
      }),
    );
    const { outcome, error } = await app.run("a", "x");
    expect(error).toBeUndefined();
    expect(JSON.stringify(outcome?.next)).not.toContain(app.dir);
    for (const text of Object.values(dataOf(outcome?.next))) expect(text).not.toMatch(/inside the system/);
  });

  test("a pipe in the workspace does not block its device", async () => {
    const app = appOf(
      assistant("a", {
        hooks: `
          function Next(ctx) {
            for (let i = 0; i < 8; i++) ctx.computer.Exec(["mkfifo", "p" + i]);
            const said = [];
            for (let i = 0; i < 8; i++) { try { ctx.workspace.ReadFile("p" + i); said.push("read"); } catch (e) { said.push("refused"); } }
            return { data: said };
          }`,
      }),
    );
    expect((await app.run("a", "x")).outcome?.next).toEqual(Array.from({ length: 8 }, () => "refused"));
  });
});
