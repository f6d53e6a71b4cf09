/** The core runs where there is no Node: bundled for a browser, in a thread that has only Web APIs. */

import { resolve } from "node:path";

import { build, type Plugin } from "esbuild";
import { expect, test } from "vitest";

import { runInBareWorker } from "./testing/index.ts";

// The kernel's index also exports parts for Node, such as lock files; nothing of them may be left once unused code is gone.
const kernelIsPure: Plugin = {
  name: "kernel-is-pure",
  setup(builder) {
    builder.onResolve({ filter: /^node:/ }, (args) => ({ path: args.path, external: true, sideEffects: false }));
    builder.onResolve({ filter: /\.ts$/ }, (args) => {
      const path = resolve(args.resolveDir, args.path);
      return path.includes("/services/kernel/") ? { path, sideEffects: false } : undefined;
    });
  },
};

const ENTRY = `
  import { createProviders, streamWithRetry } from "./index.ts";
  import { sleepOn } from "@mesh/kernel";
  const clock = {
    now: () => 1_700_000_000_000, monotonic: () => 0, every: () => () => undefined, after: () => () => undefined,
    sleep: (ms, signal) => sleepOn(clock, ms, signal),
  };
  const answerOf = (text) => ({
    ok: true, status: 200, headers: new Map(),
    body: new ReadableStream({ start(out) { if (text !== "") out.enqueue(new TextEncoder().encode(text)); out.close(); } }),
  });
  globalThis.run = async (api, body, baseUrl, apiKey) => {
    const providers = createProviders({ clock, fetch: async () => answerOf(body), env: {} });
    const model = { id: "m", name: "M", api, provider: "p", baseUrl, reasoning: false, contextWindow: 1, maxTokens: 1, cost: null };
    const messages = [{ role: "user", content: [{ type: "text", text: "Hi" }], timestamp: 0 }];
    const call = { provider: providers.resolve(api), config: { model, systemPrompt: "", messages, apiKey, retry: { maxRetries: 0 } }, sink: () => undefined, signal: new AbortController().signal };
    return JSON.stringify(await streamWithRetry(call, { clock, random: () => 0 }));
  };
`;

async function bundle(): Promise<string> {
  const result = await build({
    stdin: { contents: ENTRY, resolveDir: import.meta.dirname, loader: "ts" },
    bundle: true,
    write: false,
    platform: "browser",
    format: "iife",
    conditions: ["@mesh/source"],
    minify: true,
    plugins: [kernelIsPure],
  });
  return result.outputFiles[0]?.text ?? "";
}

test("the core is bundled for a browser without any Node module and answers without Node's globals", async () => {
  const code = await bundle();
  expect(code).not.toMatch(/node:|require\(/);
  expect(code.length).toBeLessThan(200_000);
  const chat = 'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n';
  const calls = [
    ["openai-completions", chat, "http://localhost/v1", ""],
    // Signs with Web Crypto on the way to its failure.
    ["bedrock-converse-stream", "", "https://bedrock-runtime.us-east-1.amazonaws.com", "AKIDEXAMPLE:secret"],
  ];
  const outcome = await runInBareWorker(code, `Promise.all(${JSON.stringify(calls)}.map((call) => run(...call)))`);
  expect(outcome.left).toEqual([]);
  const [said, signed] = (outcome.value as readonly string[]).map((text) => JSON.parse(text) as unknown);
  expect(said).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: "Hello" }] });
  expect(signed).toMatchObject({ stopReason: "error", errorClass: "network" });
});

test("a bundle that needs Node fails there", async () => {
  await expect(runInBareWorker("", "process.version")).rejects.toThrow("process is not defined");
  await expect(runInBareWorker("globalThis.f = () => Buffer.from('x')", "f()")).rejects.toThrow(
    "Buffer is not defined",
  );
  const { value } = await runInBareWorker(
    "",
    "[typeof require, typeof module, typeof setImmediate, typeof global].join()",
  );
  expect(value).toBe("undefined,undefined,undefined,undefined");
});
