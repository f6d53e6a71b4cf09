import { resolve } from "node:path";

import { runInBareWorker } from "@mesh/llm/testing";
import { build, type Plugin } from "vite";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");

/** What a bundler does with a package whose modules only define things: unused ones are left out. */
const pureModules: Plugin = {
  name: "pure-modules",
  enforce: "pre",
  async resolveId(source, importer, options) {
    if (source.startsWith("node:")) return { id: source, external: true, moduleSideEffects: false };
    const found = await this.resolve(source, importer, { ...options, skipSelf: true });
    return found === null ? null : { ...found, moduleSideEffects: false };
  },
};

const PROGRAM = `
import { Agent, Session, SharedState, subAgentTool } from "@mesh/agent";
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const clock = { now: () => 0, monotonic: () => 0, after: () => () => undefined, every: () => () => undefined, sleep: async () => undefined };
const model = { id: "m", name: "m", api: "demo", provider: "p", reasoning: false, contextWindow: 1000, maxTokens: 100, cost: null };
const answer = (content, stopReason) => ({ role: "assistant", content, stopReason, model: "m", provider: "p", usage, timestamp: 0 });
const provider = {
  protocol: "demo",
  stream: async (config) =>
    config.messages.length === 1
      ? answer([{ type: "toolCall", id: "c", name: "shared_state", arguments: { action: "set", key: "k", value: "v" } }], "toolUse")
      : answer([{ type: "text", text: "done" }], "stop"),
};
globalThis.outcome = (async () => {
  const state = new SharedState();
  const agent = new Agent({ model, provider, clock, sharedState: state, tools: [subAgentTool({ name: "s", description: "", model, provider, clock })] });
  await agent.prompt("go").result;
  return [await state.get("k"), Session.fromMessages(agent.messages).size, agent.messages.at(-1).content[0].text];
})();
`;

test("the core runs where there is no Node: bundled for browsers, in a thread with web globals only", async () => {
  const entry = `${ROOT}/program.ts`;
  const program: Plugin = {
    name: "program",
    enforce: "pre",
    resolveId: (source) => (source === entry ? entry : undefined),
    load: (id) => (id === entry ? PROGRAM : undefined),
  };
  const output = await build({
    root: ROOT,
    configFile: false,
    logLevel: "error",
    plugins: [program, pureModules],
    resolve: { conditions: ["@mesh/source", "browser"] },
    build: { write: false, minify: true, lib: { entry, formats: ["iife"], name: "program" } },
  });
  const bundle = [output].flat().flatMap((each) => ("output" in each ? each.output : []))[0];
  const code = bundle !== undefined && "code" in bundle ? bundle.code : "";
  expect(code.length).toBeGreaterThan(10_000);
  expect(code.match(/.*(?:"node:|\brequire\(|\bprocess\.|\bBuffer\b).*/g)).toBeNull();
  const { value, left } = await runInBareWorker(code, "outcome");
  expect(left).toEqual([]);
  expect(value).toEqual(["v", 4, "done"]);
}, 60_000);
