import type { AgentTool } from "@mesh/agent";
import { ScriptedProvider } from "@mesh/agent/testing";
import { type JsonObject, MeshError } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { failure, last, scripted, shape, start } from "./testing/assistant-run.ts";

describe("tools", () => {
  const tool = (name: string, run: AgentTool["execute"]): AgentTool => ({
    name,
    description: name,
    parameters: { type: "object" },
    ...(run === undefined ? {} : { execute: run }),
  });
  const tools = (): Promise<readonly AgentTool[]> =>
    Promise.resolve([
      tool("shout", async (args, context) => {
        context.onProgress("breathing in");
        return {
          content: [{ type: "text", text: `${(args["text"] as string | undefined)?.toUpperCase()}!` }],
          details: { loud: true },
        };
      }),
      tool("break", () => Promise.reject(new MeshError("unavailable", "no voice"))),
    ]);

  test("that a call enables run, and tell what they were asked and what they gave", async () => {
    const run = start({ input: '/tool shout {"text":"hey"}', options: { tools: ["shout"] } }, undefined, { tools });
    expect(await run.done).toMatchObject({ output: "The tool answered: HEY!", finish_reason: "stop" });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      expect.stringMatching(/^tool_call \{"id":"\w+","name":"shout","index":0,"type":"function","arguments":""\}$/),
      'tool_call {"arguments":"{\\"text\\""}',
      'tool_call {"arguments":":\\"hey\\"}"}',
      "message_end",
      expect.stringMatching(/^execute .*"tool":"shout".*"input":\{"text":"hey"\},"status":"running"/),
      'execute {"progress":"breathing in"}',
      expect.stringMatching(
        /^execute .*"input":\{"text":"hey"\},"output":"HEY!","details":\{"loud":true\},"status":"completed"/,
      ),
      "message_start",
      'text {"content":"The"}',
      'text {"content":" tool"}',
      'text {"content":" answered:"}',
      'text {"content":" HEY!"}',
      "message_end",
      "stream_end",
    ]);
    const executes = run.messages.filter((message) => message.type === "execute");
    expect(executes.map((message) => message.message_id)).toEqual(["M2", "M2", "M2"]);
    const call = run.messages.find((message) => message.type === "tool_call");
    expect(executes[0]?.props["tool_id"]).toBe(call?.props["id"]);
  });

  test("sum the usage of the turns they cause", async () => {
    const usage = { input: 10, output: 2, cacheRead: 5 };
    const provider = scripted({ calls: [{ name: "shout", arguments: { text: "a" } }], usage }, { text: "b", usage });
    const run = start({ options: { tools: ["shout"] } }, provider, { tools });
    const total = { prompt_tokens: 30, completion_tokens: 4, total_tokens: 34 };
    expect((await run.done).usage).toEqual(total);
    expect(last(run.messages)).toMatchObject({ usage: total });
  });

  test("are offered from the assistant's own list, and a call's list replaces it", async () => {
    const offered = async (options: JsonObject): Promise<unknown> => {
      const provider = scripted({ text: "ok" });
      await start({ assistantId: "handy", options }, provider, { tools }).done;
      return provider.requests[0]?.tools?.map(({ name }) => name);
    };
    expect(await offered({})).toEqual(["break", "shared_state"]);
    expect(await offered({ tools: ["shout"] })).toEqual(["shout", "shared_state"]);
    expect(await offered({ tools: [] })).toBeUndefined();
  });

  test("that fail are told as such, and the model goes on", async () => {
    const run = start({ input: "/tool break", options: { tools: ["break"] } }, undefined, { tools });
    expect((await run.done).output).toContain("no voice");
    const executes = run.messages.filter((message) => message.type === "execute");
    expect(executes.at(-1)?.props).toMatchObject({ status: "error", output: expect.stringContaining("no voice") });
  });

  test.each<[string, JsonObject, string]>([
    [
      "is not known",
      { tools: ["fly"] },
      'there is no tool "fly", which the option "tools" names; there are shout, break, ask_user',
    ],
    ["is no list of names", { tools: "bash" }, "must be a list"],
  ])("of which one %s are refused before the model is asked", async (_why, options, message) => {
    expect((await failure(start({ options }, undefined, { tools }))).message).toContain(message);
  });

  test("called over and over with the same arguments end the run as failed", async () => {
    const provider = new ScriptedProvider(() => ({ calls: [{ name: "shout", arguments: { text: "a" } }] }));
    const error = await failure(start({ options: { tools: ["shout"] } }, provider, { tools }));
    expect(error).toMatchObject({ code: "aborted", message: expect.stringContaining("same arguments") });
  });

  test("with a long output tell a part of it", async () => {
    const long = [tool("shout", async () => ({ content: [{ type: "text", text: "x".repeat(1_000_000) }] }))];
    const run = start({ input: "/tool shout", options: { tools: ["shout"] } }, undefined, {
      tools: () => Promise.resolve(long),
    });
    await run.done;
    const output = run.messages.findLast((message) => message.type === "execute")?.props["output"];
    expect(String(output).length).toBeLessThan(50_000);
    expect(output).toContain("left out");
  });
});
