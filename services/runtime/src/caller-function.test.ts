import { expect, test } from "vitest";

import { callerFunctions, responseFormatOf, toolChoiceOf } from "./caller-function.ts";
import { assistant, shown, TestApp } from "./testing/app-run.ts";

const FUNCTIONS = [
  {
    type: "function",
    function: { name: "weather", description: "Tells it", parameters: { type: "object", properties: { city: {} } } },
  },
];

test("F1 a call of a caller's function ends the run with the call, and the results go on in a new run", async () => {
  await using app = new TestApp(assistant("a", { prompt: "Help." }));
  const options = { functions: FUNCTIONS };
  const input = '/tool weather {"city":"Bern"}';
  const first = await app.run("a", input, { usesDemo: true, input: { options: { ...options, connector: "demo" } } });
  expect(first.error).toBeUndefined();
  expect(first.suspended).toBeUndefined();
  expect(first.outcome).toMatchObject({ finish_reason: "tool_calls" });
  expect(shown(first.messages)).toContainEqual(
    expect.objectContaining({ type: "tool_call", props: { content: '{"city":"Bern"}' } }),
  );
  const messages = [
    { role: "user", content: input },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "sunny" },
  ];
  const second = await app.run("a", input, {
    usesDemo: true,
    input: { options: { ...options, connector: "demo", messages } },
  });
  expect(second.outcome).toMatchObject({ output: "The tool answered: sunny", finish_reason: "stop" });
});

test("functions that cannot be offered are refused, saying which", () => {
  const named = (name: string) => ({ type: "function", function: { name } });
  expect(() => callerFunctions({ functions: [named("a"), named("a")] }, [])).toThrow('two tools named "a"');
  expect(() => callerFunctions({ functions: [named("a b")] }, [])).toThrow('unlike "a b"');
  expect(() => callerFunctions({ functions: [{ type: "web_search" }] }, [])).toThrow("must be a list");
  expect(() => callerFunctions({ functions: Array.from({ length: 129 }, (_, i) => named(`f${i}`)) }, [])).toThrow(
    "128",
  );
  const [offered] = callerFunctions({ functions: [named("bash")] }, []);
  expect(() => callerFunctions({ functions: [named("bash")] }, offered === undefined ? [] : [offered])).toThrow("bash");
  expect(callerFunctions({}, [])).toEqual([]);
});

test("a form of the answer reaches the model", async () => {
  await using app = new TestApp(assistant("a", { prompt: "Help." }));
  const schema = { type: "object", properties: { n: { type: "number" } } };
  const response_format = { type: "json_schema", json_schema: { name: "point", schema } };
  const run = await app.run("a", "give", { steps: [{ text: "{}" }], input: { options: { response_format } } });
  expect(run.error).toBeUndefined();
  expect(run.provider.requests[0]?.responseFormat).toEqual({ name: "point", schema });
  expect(responseFormatOf({ response_format: { type: "text" } })).toBeUndefined();
  expect(responseFormatOf({ response_format: { type: "json_object" } })).toEqual({
    name: "answer",
    schema: { type: "object" },
  });
});

test("a choice of a function reaches the model; a choice of any only where there are no other tools", async () => {
  await using app = new TestApp(assistant("a", { prompt: "Help." }));
  const tool_choice = { type: "function", function: { name: "weather" } };
  const run = await app.run("a", "x", {
    steps: [{ text: "" }],
    input: { options: { functions: FUNCTIONS, tool_choice } },
  });
  expect(run.provider.requests[0]?.toolChoice).toEqual({ name: "weather" });
  const own = callerFunctions({ functions: FUNCTIONS }, []);
  const others = own.map((each) => ({ ...each, server: "notes" }));
  expect(toolChoiceOf({ tool_choice: "required" }, own)).toBe("required");
  expect(toolChoiceOf({ tool_choice: "required" }, [...own, ...others])).toBeUndefined();
  expect(toolChoiceOf({ tool_choice: "required" }, [])).toBeUndefined();
  expect(toolChoiceOf({ tool_choice: "auto" }, own)).toBeUndefined();
  expect(() => toolChoiceOf({ tool_choice }, others)).toThrow("none of the functions");
});
