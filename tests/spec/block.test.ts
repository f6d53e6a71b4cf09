/** Every block of JavaScript and TypeScript of the documents runs, and does what the document says it does. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { shown } from "../../services/runtime/src/testing/app-run.ts";
import { EXPECTED, type Expectation, type HookCase } from "./expectation.ts";
import { fixtureFiles, programFiles } from "./fixture-app.ts";
import { promisedStates, statesOf } from "./message-state.ts";
import { type BlockKind, hookPrograms, kindOf, statementProgram, typeProgram } from "./script-block.ts";
import { SpecApp } from "./spec-app.ts";
import { type Block, blocksOf, hasSpec } from "./spec-document.ts";

const DOCUMENTS = ["context-api", "hooks", "i18n", "mcp", "models", "jsapi", "jsapi-old"];
const blocks = DOCUMENTS.flatMap(blocksOf).filter(({ language }) => language.endsWith("script"));

/** How many blocks there are of each kind; a document that changes must be looked at. */
const COUNTS: Readonly<Record<BlockKind, number>> = { hooks: 43, statements: 162, module: 2, types: 39, signature: 4 };

/** Values of the types that documents describe, for a look at whether the members they promise are there. */
const VALUES: Readonly<Record<string, string>> = {
  Context: "ctx",
  MemoryNamespace: "ctx.memory.user",
  AgentResult: 'ctx.agent.Call("assistant-id", "Hi")',
  LlmResult: 'ctx.llm.Call("gpt-4o", "Hi")',
  CompletionResponse: 'ctx.llm.Call("gpt-4o", "Hi").response',
  MCPToolResult: 'ctx.mcp.All([{ mcp: "echo", tool: "ping" }])[0]',
  SearchResult: 'ctx.search.KB("Hi")',
  FileInfo: 'ctx.sandbox.ListDir()[0]',
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

/** Runs one program, and compares what comments and checks say with what happened. */
async function runCase(block: Block, { program = 0, input = "Hello", ...given }: HookCase): Promise<void> {
  const { steps, locale } = given;
  const run = await app.run(idOf(block, program), input, {
    ...(steps === undefined ? {} : { steps }),
    ...(locale === undefined ? {} : { locale }),
  });
  const isFailing = "next" in given && given.next === undefined && run.error !== undefined;
  if (!isFailing) expect(run.error?.message).toBeUndefined();
  const logs = run.messages.flatMap(({ type, props }) => (type === "log" ? [String(props["text"] as string)] : []));
  for (const line of logs.filter((text) => text.startsWith("stated "))) {
    const [actual, stated] = JSON.parse(line.slice("stated ".length)) as readonly unknown[];
    expect(actual).toEqual(stated);
  }
  if (block.name === "jsapi:2715") console.log("DBG", JSON.stringify(run.messages.filter((m) => m.type === "execute")));
  if ("next" in given) expect(run.outcome?.next).toEqual(given.next);
  if (given.says !== undefined) expect(run.outcome?.output).toBe(given.says);
  if (given.shown !== undefined) expect(shown(run.messages)).toEqual(given.shown);
  if (given.asked !== undefined) expect(run.provider.requests.at(-1)).toMatchObject(given.asked as object);
  const states = statesOf(run.messages);
  for (const promised of promisedStates(block.code)) {
    expect(states).toContainEqual(expect.objectContaining(promised));
  }
}

describe.skipIf(!hasSpec)("the documents", () => {
  test("have the blocks that were looked at, and expectations name blocks that are there", () => {
    const counts: Record<string, number> = {};
    for (const { code } of blocks) counts[kindOf(code)] = (counts[kindOf(code)] ?? 0) + 1;
    expect(counts).toEqual(COUNTS);
    const names = new Set(blocks.map(({ name }) => name));
    expect(Object.keys(EXPECTED).filter((name) => !names.has(name))).toEqual([]);
    expect(app.app.problems).toEqual([]);
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
