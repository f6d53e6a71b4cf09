/** Runs of apps that are written as a record of files, with the real script host and MCP clients. For tests. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ScriptedProvider, type ScriptedStep } from "@mesh/agent/testing";
import { type App, loadApp, type Problem } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError, systemClock } from "@mesh/kernel";
import { createProviders, type StreamConfig } from "@mesh/llm";

import type { LocalService } from "../local-state.ts";
import { LocalState } from "../local-state.ts";
import type { OutputMessage, RunOutcome, SuspendedRun } from "../message.ts";
import { Workbench } from "../node/workbench.ts";
import { runAssistant } from "../run-assistant.ts";
import type { RunInput } from "../run-input.ts";
import type { StatePort, StateService } from "../state-port.ts";
import type { SteeringPort } from "../steering.ts";

/** What one run did. */
export interface AppRun {
  /** Undefined when it failed. */
  readonly outcome: RunOutcome | undefined;
  /** Present when it waits for a person. */
  readonly suspended?: SuspendedRun;
  readonly error: MeshError | undefined;
  readonly messages: readonly OutputMessage[];
  readonly provider: ScriptedProvider;
}

/** How one run is asked for. */
export interface AppRunOptions {
  /** What the model says, call by call; a single function says it for every call. */
  readonly steps?: readonly (ScriptedStep | ((config: StreamConfig) => ScriptedStep))[];
  readonly input?: Partial<RunInput>;
  readonly signal?: AbortSignal;
  readonly userId?: string;
  readonly chatId?: string;
  readonly workspaceId?: string;
  /** The built-in demo model answers, in place of a script. */
  readonly usesDemo?: boolean;
  readonly locale?: string;
  readonly onMessage?: (message: OutputMessage) => void;
  readonly steering?: SteeringPort;
}

/** An app that can be run again and again; its state lives as long as it does. */
export class TestApp implements AsyncDisposable {
  readonly app: App;
  readonly problems: readonly Problem[];
  readonly dir: string = mkdtempSync(join(tmpdir(), "yao-app-"));
  readonly #bench: Workbench;
  readonly #state: LocalState;
  #runs = 0;
  #hangs = false;

  constructor(
    files: Readonly<Record<string, string>>,
    services: Readonly<Partial<Record<StateService, LocalService>>> = {},
  ) {
    const encoder = new TextEncoder();
    const loaded = loadApp(new Map(Object.entries(files).map(([path, text]) => [path, encoder.encode(text)])));
    this.app = loaded.app;
    this.problems = loaded.problems;
    this.#state = new LocalState(systemClock, services);
    const log = (): void => undefined;
    this.#bench = new Workbench({ clock: systemClock, dir: this.dir, env: process.env, version: "0", log });
  }

  /** From now on the memory of users does not answer, as over a cut link. */
  hang(): void {
    this.#hangs = true;
  }

  /** Runs an assistant once; the model says the steps. */
  async run(assistantId: string, input: string, options: AppRunOptions = {}): Promise<AppRun> {
    const provider = new ScriptedProvider(...(options.steps ?? []));
    const providers = createProviders({ clock: systemClock, env: {} });
    if (options.usesDemo !== true) providers.register(provider).register(provider, "openai-completions");
    const messages: OutputMessage[] = [];
    const { userId = "user_1", workspaceId = "ws_1", chatId, locale = "en-us" } = options;
    const { signal = new AbortController().signal } = options;
    const scope = { workspaceId, userId, ...(chatId === undefined ? {} : { chatId }) };
    const run: RunInput = {
      app: this.app,
      assistantId,
      input,
      options: {},
      metadata: {},
      context: { runId: `run_${(this.#runs += 1)}`, timezone: "UTC", locale, ...scope },
      connectors: new Map(),
      env: () => undefined,
      ...options.input,
    };
    const state = this.#hangs ? hanging(this.#state.for(scope)) : this.#state.for(scope);
    const shared = this.#bench.portsOf({
      app: this.app,
      state,
      variables: {},
      commandEnv: { PATH: process.env["PATH"] },
    });
    const { steering } = options;
    const ports = { clock: systemClock, providers, ...shared, ...(steering === undefined ? {} : { steering }) };
    try {
      const emit = (message: OutputMessage): void => {
        messages.push(message);
        options.onMessage?.(message);
      };
      const outcome = await runAssistant(run, ports, emit, signal);
      if ("pending" in outcome) return { outcome: undefined, suspended: outcome, error: undefined, messages, provider };
      return { outcome, error: undefined, messages, provider };
    } catch (error) {
      return { outcome: undefined, error: MeshError.from(error), messages, provider };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bench[Symbol.asyncDispose]();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A state whose memory answers nothing before the run ends. */
function hanging(state: StatePort): StatePort {
  return {
    call: (service, method, args, signal) => {
      if (service !== "memory") return state.call(service, method, args, signal);
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new MeshError("cancelled", "the run was cancelled")), {
          once: true,
        });
      });
    },
  };
}

/** Files of one assistant: a package with a prompt, and its hooks as TypeScript. */
export function assistant(
  id: string,
  parts: { readonly hooks?: string; readonly prompt?: string; readonly package?: JsonObject },
): Readonly<Record<string, string>> {
  const folder = `assistants/${id.replaceAll(".", "/")}`;
  return {
    [`${folder}/package.yao`]: JSON.stringify({ name: id, ...parts.package }),
    ...(parts.prompt === undefined
      ? {}
      : { [`${folder}/prompts.yml`]: `- role: system\n  content: ${parts.prompt}\n` }),
    ...(parts.hooks === undefined ? {} : { [`${folder}/src/index.ts`]: parts.hooks }),
  };
}

/** What the user saw in the end: type and props of each message, deltas applied by their snapshots; events left out. */
export function shown(messages: readonly OutputMessage[]): readonly Json[] {
  const seen = new Map<string, Json>();
  for (const { type, props, message_id: id, delta } of messages) {
    if (type === "event") {
      const { data } = props;
      if (props["event"] !== "message_end" || !isObject(data)) continue;
      const { message_id: ended, type: kind, extra } = data as JsonObject;
      if (typeof ended !== "string" || !isObject(extra) || !("content" in extra)) continue;
      const before = seen.get(ended);
      const props_ = isObject(before) && isObject(before["props"]) ? (before["props"] as JsonObject) : {};
      seen.set(ended, { type: kind ?? "", props: { ...props_, ...(extra as JsonObject) } });
    } else if (delta !== true && id !== undefined) seen.set(id, { type, props });
  }
  return [...seen.values()];
}

/** Names of the events, in order. */
export function events(messages: readonly OutputMessage[]): readonly string[] {
  return messages.flatMap(({ type, props }) => (type === "event" ? [props["event"] as string] : []));
}
