/**
 * Runs cases in this process: no mesh, no network but what the app itself uses.
 *
 * H1  Two seats share no memory, chat or folder. They share the app's stores and models, as two runs of a workspace do.
 * H2  What a seat's folder holds is removed with it.
 */

import { existsSync, mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import type { App, WorkspaceConnector } from "@mesh/assistants";
import { type Clock, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { BUNDLED_PRICES, createProviders, PriceBook, type ProviderRegistry } from "@mesh/llm";
import {
  LocalState,
  type OutputMessage,
  runAssistant,
  runFunction,
  type RunInput,
  type RunPorts,
  type StatePort,
} from "@mesh/runtime";
import { Workbench, WorkspaceFiles } from "@mesh/runtime/node";
import { ScriptBundler } from "@mesh/scripts";

import type { Answer } from "../assert/answer.ts";
import { outputOf } from "../assert/answer.ts";
import { parseJsonPath } from "../assert/json-path.ts";
import { compilePattern } from "../assert/pattern.ts";
import type { EvalHost, FunctionRef, Identity, Question, Seat, TestCall } from "../host.ts";
import { gatedProviders, type ModelGate } from "../run/model-gate.ts";
import { askValidator } from "../run/judge.ts";
import type { Spent, ToolCall } from "../result.ts";

/** Answers questions about data models. */
export type ModelCalls = (
  scope: { readonly workspaceId: string; readonly userId: string },
  method: string,
  args: readonly Json[],
) => Promise<Json | undefined>;

/** What a host is made of. */
export interface LocalHostOptions {
  readonly app: App;
  readonly clock: Clock;
  /** An empty folder; the files of cases lie in it. */
  readonly dir: string;
  /** Variables that the app's files and scripts may read. */
  readonly variables: Readonly<Record<string, string>>;
  /** This process's environment: what connectors fall back to, and what commands need to work. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly random?: () => number;
  /** Data models; without it an app that uses them is told so. */
  readonly models?: ModelCalls;
  /** Connectors of a workspace; they win over the app's. */
  readonly connectors?: ReadonlyMap<string, WorkspaceConnector>;
  /** Set where this process is a runner of a device, whose environment is not the app's. */
  readonly device?: HostDevice;
}

/** What a device's runner adds. */
export interface HostDevice {
  /** What commands see. */
  readonly commandEnv: Readonly<Record<string, string | undefined>>;
  /** What MCP servers may see of the runner's environment. */
  readonly serverEnv: Readonly<Record<string, string | undefined>>;
  /** Variables by which MCP servers are found again when the runner is gone. */
  readonly mark: Readonly<Record<string, string>>;
  /** Called when a script cannot be ended: the runner should take no more work. */
  readonly stuck: () => void;
}

const COMMAND_ENV =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|COMSPEC|PATHEXT|USERPROFILE)$/i;
const NO_CONNECTORS: ReadonlyMap<string, WorkspaceConnector> = new Map();
const NO_LOG = (): void => undefined;

/** See the file comment. */
export class LocalHost implements EvalHost, AsyncDisposable {
  readonly app: App;
  readonly connectors?: ReadonlySet<string>;
  readonly #options: LocalHostOptions;
  readonly #bench: Workbench;
  readonly #providers: ProviderRegistry;
  readonly #prices = new PriceBook([BUNDLED_PRICES]);
  readonly #shared: LocalState;
  readonly #bundler = new ScriptBundler();
  readonly #commandEnv: Readonly<Record<string, string | undefined>>;
  #timezone: string | undefined;
  #seats = 0;

  constructor(options: LocalHostOptions) {
    const { app, clock, dir, env, variables, version } = options;
    this.app = app;
    this.#options = options;
    this.#shared = new LocalState(clock);
    this.#providers = createProviders({ clock, env: { ...env, ...variables } });
    const { device, connectors } = options;
    if (connectors !== undefined) this.connectors = new Set(connectors.keys());
    const passed = Object.entries(env).filter(([name]) => COMMAND_ENV.test(name));
    this.#commandEnv = device?.commandEnv ?? { ...Object.fromEntries(passed), ...variables };
    const home = join(dir, "app");
    // Commands of MCP servers start here; where it is not, the system says of the command that it is not there.
    mkdirSync(home, { recursive: true, mode: 0o700 });
    this.#bench = new Workbench({
      clock,
      dir: home,
      env: { ...(device?.serverEnv ?? env), ...variables },
      version,
      log: NO_LOG,
      ...(device === undefined ? {} : { mark: device.mark, stuck: device.stuck }),
    });
  }

  /** This host, with a gate before its models. */
  gated(gate: ModelGate): EvalHost {
    const providers = gatedProviders(this.#providers, gate);
    return {
      app: this.app,
      ...(this.connectors === undefined ? {} : { connectors: this.connectors }),
      functions: (path) => this.functions(path),
      seat: (agentId, identity, onLog) => this.#seat({ agentId, identity, onLog }, providers),
    };
  }

  async functions(path: string): Promise<readonly string[]> {
    const program = await this.#bundler.bundle({ read: (file) => this.app.file(file) }, path);
    return program.functions;
  }

  seat(agentId: string, identity: Identity, onLog: (text: string) => void): Seat {
    return this.#seat({ agentId, identity, onLog }, this.#providers);
  }

  #seat({ agentId, identity, onLog }: Seated, providers: ProviderRegistry): Seat {
    this.#seats += 1;
    const { clock, dir, variables, random } = this.#options;
    const folder = join(dir, `case-${this.#seats}`);
    const state = this.#stateOf(identity);
    const shared = this.#bench.portsOf({ app: this.app, state, variables, commandEnv: this.#commandEnv });
    const ports: RunPorts = {
      clock,
      providers,
      prices: this.#prices,
      ...shared,
      files: new WorkspaceFiles({ clock, dir: folder, env: this.#commandEnv }),
      ...(random === undefined ? {} : { random }),
    };
    return new LocalSeat({ ports, folder, agentId, onLog, input: (given) => this.#inputOf(given, identity) });
  }

  /** Ends the processes that were started, at once: for a process that cannot wait. */
  kill(): void {
    this.#bench.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bench[Symbol.asyncDispose]();
  }

  #stateOf({ teamId, userId, chatId }: Identity): StatePort {
    const { clock, models } = this.#options;
    const scope = { workspaceId: teamId, userId, chatId };
    const services = models === undefined ? {} : { models };
    const own = new LocalState(clock, services).for(scope);
    const shared = this.#shared.for(scope);
    return {
      call: (service, method, args, signal) => (service === "store" ? shared : own).call(service, method, args, signal),
    };
  }

  #inputOf({ agentId, messages, options }: Question, identity: Identity): RunInput {
    const { variables, env } = this.#options;
    const { userId, teamId, chatId, locale, metadata, authorized, client, referer } = identity;
    const last = messages.findLast(({ role }) => role === "user");
    return {
      app: this.app,
      assistantId: agentId,
      input: typeof last?.content === "string" ? last.content : "",
      messages: messages,
      options,
      metadata,
      context: {
        runId: `eval-${this.#seats}`,
        workspaceId: teamId,
        userId,
        chatId,
        locale,
        timezone: (this.#timezone ??= Intl.DateTimeFormat().resolvedOptions().timeZone),
        authorized,
        ...(client === undefined ? {} : { client }),
        ...(referer === undefined ? {} : { referer }),
      },
      connectors: this.#options.connectors ?? NO_CONNECTORS,
      env: (name) => (Object.hasOwn(variables, name) ? variables[name] : env[name]),
    };
  }
}

interface Seated {
  readonly agentId: string;
  readonly identity: Identity;
  readonly onLog: (text: string) => void;
}

interface SeatParts {
  readonly ports: RunPorts;
  readonly folder: string;
  readonly agentId: string;
  readonly onLog: (text: string) => void;
  readonly input: (question: Question) => RunInput;
}

class LocalSeat implements Seat {
  readonly #parts: SeatParts;
  #isUsed = false;

  constructor(parts: SeatParts) {
    this.#parts = parts;
  }

  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    const { ports } = this.#parts;
    const input = this.#parts.input(question);
    this.#isUsed ||= usesFolder(question.agentId, input.app);
    const outcome = await runAssistant(input, ports, this.#emit, signal);
    if ("pending" in outcome) {
      throw new MeshError(
        "failed_precondition",
        "the assistant waits for a person; in an eval there is nobody to answer",
      );
    }
    const { response, next, usage, output } = outcome;
    const completion = response?.completion;
    const toolCalls = (response?.tools ?? []).map(({ toolcall_id: id, ...call }): ToolCall => ({ id, ...call }));
    const text = completion?.content ?? (next === undefined ? output : "");
    return {
      output: outputOf(next, text, toolCalls),
      text,
      toolCalls,
      trace: {
        ...(completion === undefined ? {} : { completion: completionOf(completion) }),
        ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
        ...(next === undefined ? {} : { next }),
      },
      ...(usage === undefined ? {} : { usage: spentOf(usage) }),
    };
  }

  hook(ref: FunctionRef, args: readonly (Json | undefined)[], signal: AbortSignal): Promise<Json | undefined> {
    this.#isUsed = true;
    const given = args.map((json) => (json === undefined ? ({ absent: true } as const) : { json }));
    const call = { ...ref, args: given, ctxAt: "first" as const, label: `${ref.path} ${ref.fn}` };
    return runFunction(call, this.#nothingAsked(), { ...this.#parts.ports, emit: this.#emit }, signal);
  }

  process(name: string, args: readonly Json[], signal: AbortSignal): Promise<Json | undefined> {
    this.#isUsed = true;
    const dot = name.lastIndexOf(".");
    const { app } = this.#nothingAsked();
    const id = name.slice(0, Math.max(0, dot));
    const file =
      app.scripts.get(id) ?? app.scripts.get(`agents.${this.#parts.agentId}.${id.replace(/^scripts\./, "")}`);
    if (file === undefined) {
      const known = [...app.scripts.keys()].slice(0, 20).join(", ");
      throw new MeshError(
        "not_found",
        `there is no script ${id}; ${known === "" ? "the app has none" : `there are ${known}`}`,
      );
    }
    const call = {
      path: file.path,
      fn: name.slice(dot + 1),
      args: args.map((json) => ({ json })),
      ctxAt: "none" as const,
      label: name,
    };
    return runFunction(call, this.#nothingAsked(), { ...this.#parts.ports, emit: this.#emit }, signal);
  }

  async test(call: TestCall, signal: AbortSignal): Promise<void> {
    this.#isUsed = true;
    const { path, fn, name, onRecord, limitMs } = call;
    const test: NonNullable<RunPorts["test"]> = {
      record: (what, details) => onRecord({ what, details }),
      match: (text, pattern) => compilePattern(pattern).test(text),
      jsonPath: (value, at) => parseJsonPath(at).find(value),
      agent: (response, agentId, options, stopped) => this.#judge(response, agentId, options, stopped),
    };
    const run = {
      path,
      fn,
      args: [{ test: { name } }],
      ctxAt: "second" as const,
      label: name,
      limits: { runMs: limitMs },
    };
    await runFunction(run, this.#nothingAsked(), { ...this.#parts.ports, emit: this.#emit, test }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { folder } = this.#parts;
    // Most hooks write nothing, and removing what is not there costs more than to look.
    if (this.#isUsed && existsSync(folder)) await rm(folder, { recursive: true, force: true });
  }

  #judge(output: Json, agentId: string, options: JsonObject, signal: AbortSignal): ReturnType<typeof askValidator> {
    const { criteria = "", metadata, connector } = options;
    return askValidator(
      this,
      {
        agentId: agentId.replace(/^agents:/, ""),
        output,
        criteria,
        ...(typeof connector === "string" ? { connector } : {}),
        ...(typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)
          ? { metadata: metadata as JsonObject }
          : {}),
      },
      signal,
    );
  }

  #nothingAsked(): RunInput {
    return this.#parts.input({ agentId: this.#parts.agentId, messages: [], options: {} });
  }

  readonly #emit = (message: OutputMessage): void => {
    if (message.type === "log" && typeof message.props["text"] === "string") this.#parts.onLog(message.props["text"]);
  };
}

/** Only hooks and tools write files. */
function usesFolder(agentId: string, app: App): boolean {
  const assistant = app.assistants.get(agentId);
  return assistant?.hooks !== undefined || (assistant?.mcp.servers.length ?? 0) > 0;
}

function completionOf({
  model,
  content,
  reasoning_content,
}: {
  readonly model: string;
  readonly content: string;
  readonly reasoning_content?: string;
}): NonNullable<Answer["trace"]["completion"]> {
  return { model, content, ...(reasoning_content === undefined ? {} : { reasoning_content }) };
}

function spentOf({ prompt_tokens, completion_tokens, total_tokens, cost_usd }: Spent): Spent {
  return { prompt_tokens, completion_tokens, total_tokens, ...(cost_usd === undefined ? {} : { cost_usd }) };
}
