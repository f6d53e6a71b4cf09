/** Every block of JavaScript and TypeScript of the documents runs, and does what the document says it does. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type AppRun, shown } from "../../services/runtime/src/testing/app-run.ts";
import { EXPECTED, type Expectation, type HookCase } from "./expectation.ts";
import { fixtureFiles, programFiles } from "./fixture-app.ts";
import { promisedStates, statesOf } from "./message-state.ts";
import { type BlockKind, hookPrograms, kindOf, statementProgram, typeProgram } from "./script-block.ts";
import { SpecApp } from "./spec-app.ts";
import { type Block, blocksOf, hasSpec } from "./spec-document.ts";

const DOCUMENTS = ["configuration", "context-api", "hooks", "i18n", "mcp", "models", "jsapi", "jsapi-old"];
const everyBlock = DOCUMENTS.flatMap(blocksOf);
const blocks = everyBlock.filter(({ language }) => language.endsWith("script"));

/** How many blocks there are of each kind; a document that changes must be looked at. */
const COUNTS: Readonly<Record<BlockKind, number>> = { hooks: 43, statements: 162, module: 2, types: 39, signature: 4 };

/** How many values are compared in all programs together, so that none falls out unseen. */
const STATED = 173;

/** Blocks that cannot run alone. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "configuration:6": "a picture of folders",
  "hooks:8": "a picture of the order of a run",
  "i18n:8": "a picture of folders",
  "i18n:109": "a picture of folders",
  "mcp:10": "a picture of folders",
  "mcp:233": "a picture of folders",
  "models:8": "a picture of folders",
  "models:275": "a command of a shell; what it does is yao app push --reset-models here",
  "jsapi:2477": "a diagram of the order of a run",
  "jsapi:2516": "a signature without a body",
  "jsapi:2630": "a signature without a body",
  "jsapi-old:1482": "a signature without a body",
  "jsapi-old:1588": "a signature without a body",
};

/** Values of the types that documents describe, for a look at whether the members they promise are there. */
const VALUES: Readonly<Record<string, string>> = {
  Context: "ctx",
  MemoryNamespace: "ctx.memory.user",
  AgentResult: 'ctx.agent.Call("assistant-id", "Hi")',
  LlmResult: 'ctx.llm.Call("gpt-4o", "Hi")',
  CompletionResponse: 'ctx.llm.Call("gpt-4o", "Hi").response',
  MCPToolResult: 'ctx.mcp.All([{ mcp: "echo", tool: "ping" }])[0]',
  SearchResult: 'ctx.search.KB("Hi")',
  FileInfo: "ctx.sandbox.ListDir()[0]",
  Payload: "payload",
  NextHookPayload: "payload",
  Response: 'ctx.agent.Call("assistant-id", "Hi").response',
};

function expectationOf(block: Block): Expectation {
  const twin = block.name.startsWith("jsapi-old") ? blocks.find(({ code }) => code === block.code) : undefined;
  return EXPECTED[block.name] ?? EXPECTED[twin?.name ?? ""] ?? {};
}

function programsOf(block: Block): readonly string[] {
  const { code } = block;
  const { also = [], ...around } = expectationOf(block);
  switch (kindOf(code)) {
    case "hooks":
      return [code, ...also.map(([from, to]) => code.replace(from, to))].flatMap(hookPrograms);
    case "statements":
      return [statementProgram(code, around)];
    case "types":
      return [typeProgram(code, VALUES)];
    case "module":
    case "signature":
      return [];
  }
}

function idOf({ name }: Block, program: number): string {
  return `${name.replace(":", "-")}-${program}`;
}

let app: SpecApp;

beforeAll(async () => {
  if (!hasSpec) return;
  const files: Record<string, string> = { ...fixtureFiles(blocksOf("models")) };
  for (const block of blocks) {
    const hasModel = kindOf(block.code) === "hooks";
    for (const [index, program] of programsOf(block).entries()) {
      Object.assign(files, programFiles(idOf(block, index), program, { hasModel }));
    }
  }
  app = await SpecApp.open(files);
});

afterAll(() => app?.[Symbol.asyncDispose]());

/** Runs one program and compares what it did with what is expected of it. */
async function runCase(block: Block, { program = 0, input = "Hello", ...given }: HookCase): Promise<void> {
  const { steps, locale } = given;
  const run = await app.run(idOf(block, program), input, {
    ...(steps === undefined ? {} : { steps }),
    ...(locale === undefined ? {} : { locale }),
  });
  expect(run.error?.message).toBe(given.error);
  if ("next" in given) expect(run.outcome?.next).toEqual(given.next);
  if (given.says !== undefined) expect(run.outcome?.output).toBe(given.says);
  if (given.shown !== undefined) expect(shown(run.messages)).toEqual(given.shown);
  if (given.asked !== undefined) expect(run.provider.requests.at(-1)).toMatchObject(given.asked as object);
  expectStated(block, run);
}

/** Compares what the comments of a block say with what happened. */
function expectStated({ code }: Block, { messages }: AppRun): void {
  for (const { type, props } of messages) {
    const line = type === "log" ? props["text"] : undefined;
    if (typeof line !== "string" || !line.startsWith("stated ")) continue;
    const [actual, stated] = JSON.parse(line.slice("stated ".length)) as readonly unknown[];
    expect(actual).toEqual(stated);
  }
  const states = statesOf(messages);
  for (const promised of promisedStates(code)) expect(states).toContainEqual(expect.objectContaining(promised));
}

describe.skipIf(!hasSpec)("the documents", () => {
  test("have the blocks that were looked at, and expectations name blocks that are there", () => {
    const counts: Record<string, number> = {};
    for (const { code } of blocks) counts[kindOf(code)] = (counts[kindOf(code)] ?? 0) + 1;
    expect(counts).toEqual(COUNTS);
    const names = new Set(blocks.map(({ name }) => name));
    expect(Object.keys(EXPECTED).filter((name) => !names.has(name))).toEqual([]);
    expect(app.app.problems).toEqual([]);
    const programs = blocks.flatMap(programsOf);
    // Values that comments state, members that types promise, and what is expected beyond them.
    expect(programs.reduce((sum, program) => sum + program.split("stated(").length - 2, 0)).toBe(STATED);
  });

  test("are run, loaded as data, or listed with the reason why not", () => {
    const isData = (language: string): boolean => language === "json" || language === "yaml";
    const rest = everyBlock.filter(
      ({ language, code }) => !isData(language) && !(language.endsWith("script") && kindOf(code) !== "signature"),
    );
    expect(rest.map(({ name }) => name).toSorted()).toEqual(Object.keys(NOT_RUN).toSorted());
    expect([everyBlock.length, Object.keys(NOT_RUN).length]).toEqual([300, 13]);
  });

  test("show the event at the end of a block, whose fields are ours", async () => {
    const shownEvents = everyBlock.filter(({ language, name }) => language === "json" && name.startsWith("jsapi"));
    const run = await app.run("jsapi-830-0", "Hello");
    const event = run.messages.find(({ props }) => props["event"] === "block_end");
    const { timestamp, duration_ms, ...same } = (event?.props["data"] ?? {}) as Record<string, unknown>;
    expect([typeof timestamp, typeof duration_ms]).toEqual(["number", "number"]);
    expect(shownEvents.length).toBe(2);
    for (const { code } of shownEvents) {
      const { type, props } = JSON.parse(code) as { type: string; props: { data: object } };
      expect({ type: event?.type, props: { ...event?.props, data: same } }).toEqual({
        type,
        props: { ...props, data: expect.objectContaining(same) as unknown },
      });
      expect(Object.keys(props.data).toSorted()).toEqual([
        "block_id",
        "duration_ms",
        "message_count",
        "status",
        "timestamp",
      ]);
    }
  });

  test.each(blocks.filter(({ code }) => ["hooks", "statements", "types"].includes(kindOf(code))))(
    "$name runs",
    async (block) => {
      const cases = expectationOf(block).cases ?? [];
      const untold = programsOf(block).flatMap((_, program) =>
        cases.some((each) => (each.program ?? 0) === program) ? [] : [{ program }],
      );
      for (const each of [...cases, ...untold]) await runCase(block, each);
    },
  );
});
