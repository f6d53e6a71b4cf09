import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { type Block, blocksOf, examplesOf, interfacesOf, isDescription, moduleOf } from "./testing/document.ts";
import { type Piece, typeCheck } from "./testing/type-check.ts";

const SPEC = join(process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../shared"), "spec");
const isMissing = !existsSync(SPEC);
const reason = isMissing ? ` (skipped: there are no documents at ${SPEC})` : "";
const LIMIT = 120_000;

const blocks: readonly Block[] = isMissing
  ? []
  : readdirSync(SPEC).flatMap((file) => blocksOf(file.replace(/\.md$/, ""), readFileSync(join(SPEC, file), "utf8")));

/** Names the documents use without saying what they are; those with a type of ours are checked as such. */
const LEFT_OUT = `
  declare global {
    var analyzeData: any, callLLM: any, doStep1: any, doStep2: any, doStep3: any, extractTopic: any, fetchData: any;
    var fetchExternalData: any, processData: any, shouldDelegate: any, data: any, message: any, msg1: any, msg2: any;
    var newMsg: any, options: any, response: any, results: any, search_results: any, value: any;
    var messages: agent.Message[];
    var node: agent.TraceNode, search_node: agent.TraceNode;
    var t: testing.T;
    type Message = agent.Message;
  }
  export {};
`;

const SURROUNDINGS: readonly Piece[] = [
  { name: "left-out", source: LEFT_OUT },
  { name: "setup", source: "export function SystemReady(ctx: Context): any {\n  return ctx;\n}\n" },
];

/** What is no fault of a block: it declares a name again because it shows alternatives. */
const ALTERNATIVES = /^TS(2393|2403|2451|2300):/;

/** Blocks that cannot be checked, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "jsapi-115": "shows a signature with an empty body that has to return something",
};

/** Complaints about blocks, without those that are expected. */
async function complaintsAbout(some: readonly Block[]): Promise<Readonly<Record<string, readonly string[]>>> {
  const pieces = some.map((block) => ({ name: block.name, source: moduleOf(block) }));
  const complaints = [...(await typeCheck([...SURROUNDINGS, ...pieces], false))]
    .map(([name, texts]) => [name, texts.filter((text) => !ALTERNATIVES.test(text))] as const)
    .filter(([, texts]) => texts.length > 0);
  return Object.fromEntries(complaints);
}

test.skipIf(isMissing)(
  `every hook, test and statement of the documents type-checks${reason}`,
  { timeout: LIMIT },
  async () => {
    const checked = blocks.filter((block) => !isDescription(block));
    expect(Object.keys(await complaintsAbout(checked)).toSorted()).toEqual(Object.keys(EXCEPTIONS).toSorted());
    expect(checked.length).toBeGreaterThan(170);
  },
);

test.each([
  ["a method that is not there", 'ctx.Sned("Hi");', "TS2339"],
  ["an argument of another kind", "ctx.Append(5, 'x');", "TS2345"],
  ["a field that hooks may not return", "function Create(ctx, messages) {\n  return { temprature: 1 };\n}", "TS2561"],
  ["a property that is not there", "console.log(payload.toolz);", "TS2551"],
])("%s is noticed", { timeout: LIMIT }, async (_title, code, complaint) => {
  const complaints = await complaintsAbout([{ name: "block", language: "javascript", code }]);
  expect(complaints["block"]?.[0]).toContain(complaint);
});

/** Our name for an interface of the documents. */
const OURS: Readonly<Record<string, string>> = {
  AgentCallOptions: "NonNullable<Parameters<agent.Agent['Call']>[2]>",
  AudioConfig: "NonNullable<agent.CreateResponse['audio']>",
  CompletionResponse: "agent.Completion",
  HookCreateResponse: "agent.CreateResponse",
  LlmOptions: "NonNullable<Parameters<agent.Llm['Stream']>[2]>",
  MCPServerConfig: "agent.McpServer",
  MCPToolRequest: "agent.McpRequest",
  MCPToolResult: "agent.McpResult",
  NextHookPayload: "agent.Payload",
  NextHookResponse: "agent.NextResponse",
  ParallelInput: "agent.TraceParallelInput",
  TestCase: "testing.TestCase",
  TestResult: "testing.TestResult",
  UsesConfig: "agent.Uses",
};

/** Interfaces of the documents that are not compared, with the reason. */
const NOT_OURS: Readonly<Record<string, string>> = {
  TurnResult: "a part of a report, not of a script",
  CheckpointResult: "a part of a report, not of a script",
  NextPayload: "an example's own type",
  "eval-37-Context":
    "promises a team, which not everybody has; the rest of it is compared with the other documents' Context",
};

/** Names the interfaces of the documents use for ours. */
const NAMES: Piece = {
  name: "names",
  source: `
    declare global {
      type Agent = agent.Agent;
      type LLM = agent.Llm;
      type MCP = agent.Mcp;
      type Memory = agent.Memory;
      type Message = agent.Message;
      type Sandbox = agent.Sandbox;
      type Search = agent.Search;
      type Trace = agent.Trace;
      type CompletionResponse = agent.Completion;
      type ToolCall = agent.ToolCall;
      type ToolCallResponse = agent.ToolCallResponse;
      type UsageInfo = agent.Usage;
      type Response = agent.Response;
      type TraceNodeOption = agent.TraceNodeOption;
      type AgentCallOptions = agent.CallOptions;
      type LlmOptions = agent.LlmOptions;
    }
    export {};
  `,
};

/** Interfaces of things a script makes: what the documents allow must be allowed. All others are things a script gets. */
const MADE_BY_SCRIPTS = new Set(
  "AgentCallOptions AgentRequest AudioConfig HookCreateResponse LlmOptions LlmRequest MCPServerConfig MCPToolRequest NextHookResponse NextResponse Options ParallelInput TraceNodeOption TraceSpaceOption UsesConfig".split(
    " ",
  ),
);

/** The documents call both a message that is sent and one that streams by a Message. */
function shownMessage(source: string): string {
  return source.includes("chunk_id") ? "agent.Chunk" : "agent.OutputMessage";
}

/** A module that fails when the documents' interface and ours do not fit. */
function comparison(name: string, source: string): string {
  const ours = name === "Message" ? shownMessage(source) : (OURS[name] ?? `agent.${name}`);
  const [from, to] = MADE_BY_SCRIPTS.has(name) ? [name, ours] : [ours, name];
  return `${source}\nexport const fits: (given: ${from}) => ${to} = (given) => given;\n`;
}

test.skipIf(isMissing)(`every interface of the documents describes ours${reason}`, { timeout: LIMIT }, async () => {
  const described = blocks.filter((block) => /^interface /m.test(block.code));
  const checks = described.flatMap((block) => {
    const { names, source } = interfacesOf(block);
    return names
      .filter((name) => NOT_OURS[name] === undefined && NOT_OURS[`${block.name}-${name}`] === undefined)
      .map((name) => ({ name: `${block.name}-${name}`, source: comparison(name, source) }));
  });
  expect(Object.fromEntries(await typeCheck([NAMES, ...checks], false))).toEqual({});
  expect(checks.length).toBeGreaterThan(35);
});

test("every example in the comments of this package type-checks strictly", { timeout: LIMIT }, async () => {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".ts") && !file.includes(".test."));
  const examples = files.flatMap((file) =>
    examplesOf(file.replace(/\.ts$/, ""), readFileSync(join(import.meta.dirname, file), "utf8")),
  );
  const pieces = examples.map((block) => ({ name: block.name, source: moduleOf(block) }));
  expect(Object.fromEntries(await typeCheck(pieces, true))).toEqual({});
  expect(examples.length).toBeGreaterThan(120);
});
