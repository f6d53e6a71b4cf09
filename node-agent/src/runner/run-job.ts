/** Executes one job inside a runner: its data become the input of the runtime, its outcome becomes data again. */

import type { App, WorkspaceConnector } from "@mesh/assistants";
import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { ChatRegistry } from "@mesh/llm";
import { type Emit, runAssistant, type RunInput } from "@mesh/runtime";

import type { RunEnd, RunJob } from "./protocol.ts";

/** What a job runs with. */
export interface JobPorts {
  readonly clock: Clock;
  readonly chat: ChatRegistry;
}

/** Runs a job to its end; never throws. */
export async function runJob(
  job: RunJob,
  app: App,
  ports: JobPorts & { readonly emit: Emit },
  signal: AbortSignal,
): Promise<RunEnd> {
  try {
    const outcome = await runAssistant(inputOf(job, app), ports, ports.emit, signal);
    return {
      state: "succeeded",
      output: outcome.output,
      ...(outcome.usage !== undefined && { usage: outcome.usage }),
    };
  } catch (thrown) {
    return endOf(thrown, signal);
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
  };
}

function connectorsOf(configs: JsonObject): ReadonlyMap<string, WorkspaceConnector> {
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
