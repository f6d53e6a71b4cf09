import { expect, test } from "vitest";

import { loadApp } from "./load-app.ts";
import { type RenderRequest, renderPrompts } from "./render-prompts.ts";

const NOW = new Date("2026-03-01T23:05:09.700Z");

function request(
  prompt: string,
  more: Partial<RenderRequest> & { files?: Record<string, string> } = {},
): RenderRequest {
  const { files, ...overrides } = more;
  const encoder = new TextEncoder();
  const { app, problems } = loadApp(
    new Map(
      Object.entries({
        "assistants/a.b/package.yao": '{"name": "{{ name }}", "description": "D", "type": "worker"}',
        "assistants/a.b/prompts.yml": `- role: system\n  content: ${JSON.stringify(prompt)}\n`,
        "assistants/a.b/prompts/chat/short.yml": "- role: system\n  content: preset\n",
        "assistants/a.b/locales/en-us.yml": "name: Ann\nmood: happy with $SYS.YEAR\n",
        "assistants/a.b/locales/zh-cn.yml": "name: 安\n",
        "agent/prompts.yml": "- role: system\n  content: global $SYS.YEAR\n",
        ...files,
      }).map(([path, text]) => [path, encoder.encode(text)]),
    ),
  );
  expect(problems).toEqual([]);
  const assistant = app.assistants.get("a.b")!;
  return { app, assistant, sys: { now: NOW, timezone: "UTC" }, env: () => undefined, ctx: {}, ...overrides };
}

function rendered(prompt: string, more: Partial<RenderRequest> = {}): string {
  return renderPrompts(request(prompt, { disableGlobal: true, ...more }))[0]?.content ?? "";
}

test.each([
  ["$SYS.TIME", "23:05:09"],
  ["$SYS.DATE", "2026-03-01"],
  ["$SYS.DATETIME", "2026-03-01 23:05:09"],
  ["$SYS.TIMEZONE", "UTC"],
  ["$SYS.WEEKDAY", "Sunday"],
  ["$SYS.YEAR", "2026"],
  ["$SYS.MONTH", "03"],
  ["$SYS.DAY", "01"],
  ["$SYS.HOUR", "23"],
  ["$SYS.MINUTE", "05"],
  ["$SYS.SECOND", "09"],
  ["$SYS.UNIX", "1772406309"],
])("%s is %s", (variable, value) => {
  expect(rendered(`(${variable}).`)).toBe(`(${value}).`);
});

test("times are those of the time zone, midnight is 00", () => {
  const sys = { now: new Date("2026-03-01T16:00:00Z"), timezone: "Asia/Shanghai" };
  expect(rendered("$SYS.DATETIME $SYS.WEEKDAY $SYS.TIMEZONE", { sys })).toBe(
    "2026-03-02 00:00:00 Monday Asia/Shanghai",
  );
});

test("a time zone that does not exist says what to use", () => {
  expect(() => rendered("x", { sys: { now: NOW, timezone: "Mars/Base" } })).toThrow(
    'the time zone "Mars/Base" is not known; use a name such as Europe/Berlin or UTC',
  );
});

test("R2: unknown system names stay, missing variables and context values are empty", () => {
  expect(rendered("$SYS.NOPE $SYS.DATEX [$ENV.NOPE] [$CTX.NOPE] $OTHER.X $SYS")).toBe(
    "$SYS.NOPE $SYS.DATEX [] [] $OTHER.X $SYS",
  );
});

test("R1: an inserted value is not searched for variables", () => {
  const env = (name: string): string | undefined => ({ A: "$CTX.SECRET $ENV.B {{ name }}", B: "no" })[name];
  const ctx = { SECRET: "leak", X: "$ENV.B" };
  expect(rendered("$ENV.A | $CTX.X | {{ mood }}", { env, ctx })).toBe(
    "$CTX.SECRET $ENV.B {{ name }} | $ENV.B | happy with $SYS.YEAR",
  );
});

test("replacement patterns in a value are plain text", () => {
  expect(rendered("a $CTX.X b", { ctx: { X: "$& $1 $$" } })).toBe("a $& $1 $$ b");
});

test("metadata keys are taken as they are, and the sentence after one is kept", () => {
  const ctx = { "user-name": "Ann", "a.b": "dotted", plain: "p", a: "short" };
  expect(rendered("$CTX.user-name. $CTX.a.b! $CTX.plain.Next $CTX.a.c $CTX.none.Next $CTX.none-x", { ctx })).toBe(
    "Ann. dotted! p.Next short.c .Next -x",
  );
});

test("names of objects' own members are no context values", () => {
  expect(rendered("[$CTX.constructor][$CTX.__proto__][$CTX.toString]")).toBe("[][][]");
});

test("R3: what the assistant is comes from the app, in the run's language", () => {
  const ctx = { ASSISTANT_NAME: "Mallory", ASSISTANT_ID: "x", USER_ID: "u1" };
  const text =
    "$CTX.ASSISTANT_ID $CTX.ASSISTANT_NAME $CTX.ASSISTANT_DESCRIPTION $CTX.ASSISTANT_TYPE $CTX.LOCALE $CTX.USER_ID";
  expect(rendered(text, { ctx, locale: "zh-cn" })).toBe("a.b 安 D worker zh-cn u1");
  expect(rendered("$CTX.LOCALE $CTX.locale")).toBe("en-us en-us");
});

test("keys with a text are translated, other braces stay", () => {
  expect(rendered("{{ name }} {{name}} {{ unknown }} {{ user.input }}")).toBe("Ann Ann {{ unknown }} {{ user.input }}");
});

test("global prompts come first, unless they are disabled", () => {
  const both = request("own");
  expect(renderPrompts(both).map((prompt) => prompt.content)).toEqual(["global 2026", "own"]);
  expect(renderPrompts({ ...both, disableGlobal: true })).toHaveLength(1);
  const off = { ...both, assistant: { ...both.assistant, disableGlobalPrompts: true } };
  expect(renderPrompts(off)).toHaveLength(1);
  expect(renderPrompts({ ...off, disableGlobal: false })).toHaveLength(2);
});

test("a preset replaces the assistant's prompts and not the global ones", () => {
  expect(renderPrompts(request("own", { preset: "chat.short" })).map((prompt) => prompt.content)).toEqual([
    "global 2026",
    "preset",
  ]);
});

test.each(["none", "constructor", "__proto__"])("the preset %s is refused with those there are", (preset) => {
  expect(() => renderPrompts(request("own", { preset }))).toThrow(
    `assistant a.b has no prompt preset "${preset}"; it has chat.short`,
  );
});
