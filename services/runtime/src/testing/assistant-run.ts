/** Runs of one small app with a scripted model, for tests. */

import { ScriptedProvider, type ScriptedStep } from "@mesh/agent/testing";
import { type App, type AppFiles, loadApp, type Problem } from "@mesh/assistants";
import { type JsonObject, MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { createProviders, type StreamProvider } from "@mesh/llm";

import type { OutputMessage, RunOutcome, SuspendedRun } from "../message.ts";
import { runAssistant } from "../run-assistant.ts";
import type { RunInput, RunPorts } from "../run-input.ts";

/** When the clock of a run starts. */
export const START: number = 1_700_000_000_000;

const FILES: Readonly<Record<string, string>> = {
  "assistants/hello/package.yao": JSON.stringify({
    name: "{{ title }}",
    description: "Says hello",
    avatar: "/hello.png",
    options: { temperature: 0.2, max_tokens: 100 },
  }),
  "assistants/hello/prompts.yml": `- role: system
  content: "In $CTX.WORKSPACE_ID for $CTX.USER_ID, mood $CTX.mood, year $SYS.YEAR, $ENV.PLACE."
`,
  "assistants/hello/prompts/short.yml": `- role: system
  content: Be short.
`,
  "assistants/hello/locales/en-us.yml": "title: Hello\n",
  "assistants/hello/locales/zh-cn.yml": "title: 你好\n",
  "assistants/shy/package.yao": '{"name": "Shy", "disable_global_prompts": true}',
  "assistants/shy/prompts.yml": "- role: user\n  content: 1+1\n- role: assistant\n  content: '2'\n",
  "assistants/handy/package.yao": '{"name": "Handy", "options": {"tools": ["break"]}}',
  "assistants/handy/prompts.yml": "- role: system\n  content: x\n",
  "assistants/bare/package.yao": '{"name": "Bare"}',
  "assistants/far/package.yao": '{"name": "Far", "connector": "far"}',
  "assistants/far/prompts.yml": "- role: system\n  content: x\n",
  "connectors/far.conn.yao": '{"type": "sparkle", "options": {"model": "m", "key": "$ENV.FAR_KEY"}}',
  "agent/prompts.yml": "- role: system\n  content: Global.\n",
};

function appFiles(): AppFiles {
  return new Map(Object.entries(FILES).map(([path, text]) => [path, new TextEncoder().encode(text)]));
}

const loaded = loadApp(appFiles());
/** The app. */
export const app: App = loaded.app;
/** What loading it found. */
export const problems: readonly Problem[] = loaded.problems;

/** A run of `hello` with nothing given. */
export const bareInput: RunInput = {
  app,
  assistantId: "hello",
  input: "x",
  options: {},
  metadata: {},
  context: { runId: "r", workspaceId: "w", userId: "u", timezone: "UTC" },
  connectors: new Map(),
  env: () => undefined,
};

/** A run that goes on. */
export interface Run {
  readonly messages: OutputMessage[];
  readonly clock: FakeClock;
  readonly abort: AbortController;
  readonly done: Promise<RunOutcome>;
}

/** Starts a run of `hello` for a person, unless the patch says otherwise. */
export function start(patch: Partial<RunInput> = {}, provider?: StreamProvider, more: Partial<RunPorts> = {}): Run {
  const clock = new FakeClock(START);
  const providers = createProviders({ clock, env: {} });
  if (provider !== undefined) providers.register(provider).register(provider, "openai-completions");
  const messages: OutputMessage[] = [];
  const abort = new AbortController();
  const input: RunInput = {
    app,
    assistantId: "hello",
    input: "hi there",
    options: {},
    metadata: {},
    context: { runId: "run_1", workspaceId: "ws_1", userId: "user_1", timezone: "UTC" },
    connectors: new Map(),
    env: (name) => ({ PLACE: "here", FAR_KEY: "k" })[name],
    ...patch,
  };
  const ports = { clock, providers, ...more };
  const done = runAssistant(input, ports, (message) => void messages.push(message), abort.signal).then(finished);
  done.catch(() => undefined);
  return { messages, clock, abort, done };
}

function finished(result: RunOutcome | SuspendedRun): RunOutcome {
  if ("pending" in result) throw new Error("the run waits");
  return result;
}

/** Why a run failed. */
export async function failure(run: Run): Promise<MeshError> {
  return run.done.then(
    () => {
      throw new Error("did not fail");
    },
    (error: unknown) => MeshError.from(error),
  );
}

/** Events as their names, other messages as they are. */
export function shape(messages: readonly OutputMessage[]): unknown[] {
  return messages.map((message) =>
    message.type === "event" ? message.props["event"] : `${message.type} ${JSON.stringify(message.props)}`,
  );
}

/** The data of the last message. */
export function last(messages: readonly OutputMessage[]): JsonObject {
  return messages.at(-1)?.props["data"] as JsonObject;
}

/** An event of the stream. */
export function event(name: string, message: string, data: JsonObject): OutputMessage {
  return { type: "event", props: { event: name, message, data: { ...data, timestamp: START } } };
}

/** A piece of a message. */
export function delta(n: number, message: string, type: string, content: string): OutputMessage {
  return { type, delta: true, props: { content }, message_id: message, chunk_id: `C${n}` };
}

/** A model that says these things in turn. */
export function scripted(...steps: readonly ScriptedStep[]): ScriptedProvider {
  return new ScriptedProvider(...steps);
}

/** A model that says something, then two calls whose pieces come interleaved; asked again, it says nothing. */
export function interleaving(text: string): StreamProvider {
  const empty = scripted({}, {});
  let isFirst = true;
  return {
    protocol: "demo",
    async stream(config, sink, signal) {
      const message = await empty.stream(
        config,
        isFirst ? (event) => event.type === "start" && sink(event) : sink,
        signal,
      );
      if (!isFirst) return message;
      isFirst = false;
      sink({ type: "textDelta", contentIndex: 0, delta: text });
      for (const [contentIndex, id, name, delta] of [
        [1, "a", "add", '{"x"'],
        [2, "b", "sub", "{}"],
        [1, "a", "add", ":1}"],
      ] as const) {
        sink({ type: "toolCallDelta", contentIndex, id, name, delta });
      }
      return {
        ...message,
        stopReason: "toolUse",
        content: [
          { type: "text", text },
          { type: "toolCall", id: "a", name: "add", arguments: { x: 1 } },
          { type: "toolCall", id: "b", name: "sub", arguments: {} },
        ],
      };
    },
  };
}
