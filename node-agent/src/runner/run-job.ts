/** Executes one job inside a runner: its data become the input of the runtime, its outcome becomes data again. */

import { mkdir } from "node:fs/promises";

import type { AgentTool } from "@mesh/agent";
import { codingTools } from "@mesh/agent/node";
import type { App, WorkspaceConnector } from "@mesh/assistants";
import { inheritedEnv, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import {
  type Emit,
  runAssistant,
  type RunInput,
  type RunPorts,
  type StatePort,
  type SteeringPort,
} from "@mesh/runtime";
import type { Workbench } from "@mesh/runtime/node";

import type { RunEnd, RunJob } from "./protocol.ts";
import { workspaceFilesTool } from "./workspace-files-tool.ts";

/** What a job runs with. */
export interface JobPorts extends Pick<RunPorts, "clock" | "random" | "prices" | "log"> {
  /** What the runs of the workspace share. */
  readonly bench: Pick<Workbench, "portsOf">;
  /** Memory, models and chats of the workspace, as this run may reach them. */
  readonly state: StatePort;
  /** What people say to the run while it works. */
  readonly steering?: SteeringPort;
  /** The runner's own environment; commands of tools get a part of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where the output of a job goes. */
export interface RunSinks {
  readonly emit: Emit;
  /** Takes the state of a run that is about to wait, piece by piece. */
  readonly keep: (piece: string) => Promise<void>;
}

// At most 384 KB of UTF-8: a piece travels as one event.
const PIECE_CHARS = 128 * 1024;

/** Runs a job until it ends or waits; never throws. */
export async function runJob(job: RunJob, app: App, ports: JobPorts & RunSinks, signal: AbortSignal): Promise<RunEnd> {
  try {
    // Commands, MCP servers and files of the run start here.
    await mkdir(job.workspaceDir, { recursive: true, mode: 0o700 });
    const tools = (): Promise<readonly AgentTool[]> => builtInTools(job, ports);
    // What protocols read from the environment is what the run may read, not what this process has.
    const providers = createProviders({ clock: ports.clock, env: job.env });
    const { bench, state, steering } = ports;
    const commands = commandEnv(job.env, ports.env);
    const shared = bench.portsOf({ app, state, variables: job.env, commandEnv: commands });
    const outcome = await runAssistant(
      inputOf(job, app),
      { ...ports, ...shared, providers, tools, ...(steering === undefined ? {} : { steering }) },
      ports.emit,
      signal,
    );
    if ("pending" in outcome) {
      for (const piece of pieces(outcome.state)) await ports.keep(piece);
      return { state: "waiting", pending: outcome.pending };
    }
    return {
      state: "succeeded",
      output: outcome.output,
      ...(outcome.usage !== undefined && { usage: outcome.usage }),
    };
  } catch (thrown) {
    return endOf(thrown, signal);
  }
}

/** Cuts a text where no character is cut. */
function* pieces(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const next = at + PIECE_CHARS;
    // Half of a character that needs two units would be lost on its way.
    const end = /[\uD800-\uDBFF]/.test(text.charAt(next - 1)) ? next - 1 : next;
    yield text.slice(at, end);
    at = end;
  }
}

/** What a failure means for the run. */
export function endOf(thrown: unknown, signal: AbortSignal): RunEnd {
  if (signal.aborted) return { state: "cancelled" };
  const error = MeshError.from(thrown);
  // The text of an unexpected error is for the log of this device.
  if (error.code === "internal" && !(thrown instanceof MeshError)) {
    return {
      state: "failed",
      error: { code: "internal", message: "the run failed inside the runner; see the device's log" },
    };
  }
  return { state: "failed", error: { code: error.code, message: error.message } };
}

async function builtInTools(job: RunJob, { clock, env, state }: JobPorts): Promise<readonly AgentTool[]> {
  const cwd = job.workspaceDir;
  const passed = commandEnv(job.env, env);
  return [...codingTools({ clock, cwd, env: passed, allowEnv: Object.keys(passed) }), workspaceFilesTool(state)];
}

// The mark by which the agent finds the processes of a runner that is gone.
const MARK_ENV = ["YAO_RUNNER"];
// Names of the mesh's own credentials, whoever set them.
const MESH_ENV = /^(YAO_|NATS_|DATABASE_|PG(PASSWORD|PASSFILE|SERVICE))/i;

/** The environment of a command: what the run may read, and of the device only what is no secret. */
export function commandEnv(
  run: Readonly<Record<string, string>>,
  device: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const readable = Object.entries(run).filter(([name]) => !MESH_ENV.test(name));
  return { ...Object.fromEntries(readable), ...inheritedEnv(device, MARK_ENV) };
}

function inputOf(job: RunJob, app: App): RunInput {
  const locale = textIn(job.metadata, "locale");
  const chatId = textIn(job.metadata, "chat_id");
  return {
    app,
    assistantId: job.assistantId,
    input: job.input,
    options: job.options,
    metadata: job.metadata,
    context: {
      runId: job.runId,
      workspaceId: job.workspaceId,
      userId: job.userId,
      ...(locale !== undefined && { locale }),
      ...(chatId !== undefined && { chatId }),
    },
    connectors: connectorsOf(job.connectors),
    env: (name) => (Object.hasOwn(job.env, name) ? job.env[name] : undefined),
    ...(job.resume !== undefined && { resume: job.resume }),
  };
}

/** A workspace's connectors as the runtime wants them. */
export function connectorsOf(configs: JsonObject): ReadonlyMap<string, WorkspaceConnector> {
  const out = new Map<string, WorkspaceConnector>();
  for (const [id, config] of Object.entries(configs)) if (isObject(config)) out.set(id, connectorOf(config));
  return out;
}

function connectorOf(config: Readonly<Record<string, unknown>>): WorkspaceConnector {
  const fields = ["type", "model", "host", "key"] as const;
  const texts = fields.flatMap((field) => {
    const value = config[field];
    return typeof value === "string" && value !== "" ? [[field, value] as const] : [];
  });
  const { options } = config;
  return { ...Object.fromEntries(texts), ...(isObject(options) && { options: options as { [key: string]: Json } }) };
}

function textIn(object: JsonObject, key: string): string | undefined {
  const value = object[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}
