/**
 * One run of an assistant, from its input to its last event.
 *
 * R1  The stream begins with `stream_start` and ends with exactly one `stream_end`, whatever happens between.
 * R2  A failed run says why in an `error` message before `stream_end`, then throws the same error; a cancelled one throws `cancelled`.
 * R3  The text of an internal error stays here: users see the run's id instead.
 */

import { type Assistant, localizeAssistant } from "@mesh/assistants";
import { type JsonObject, MeshError } from "@mesh/kernel";

import type { RunOutcome } from "./message.ts";
import { callsModel, prepareModelCall, presetOf } from "./model-call.ts";
import { streamModel } from "./model-output.ts";
import { type Emit, OutputStream } from "./output-stream.ts";
import type { RunInput, RunPorts } from "./run-input.ts";

const SKIPPED = "skipped";

type Ended = { readonly outcome: RunOutcome } | { readonly error: MeshError };

/** Runs an assistant once, streaming its output into `emit`; see the file comment for what is guaranteed. */
export async function runAssistant(
  input: RunInput,
  ports: RunPorts,
  emit: Emit,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const out = new OutputStream(ports.clock, emit);
  const startedMs = ports.clock.monotonic();
  await out.event("stream_start", "Stream started", startOf(input));
  const ended = await execute(input, ports, out, signal).then(
    (outcome): Ended => ({ outcome }),
    (thrown: unknown): Ended => ({ error: errorOf(thrown, input, signal) }),
  );
  const head = { ...headOf(input), duration_ms: Math.round(ports.clock.monotonic() - startedMs) };
  if ("outcome" in ended) {
    await out.event("stream_end", "Stream completed", { ...head, status: "completed", ...usageOf(ended.outcome) });
    return ended.outcome;
  }
  const { error } = ended;
  const isCancelled = signal.aborted;
  await out.endAll(isCancelled ? "partial" : "error");
  if (!isCancelled) await out.send("error", { message: error.message, code: error.code });
  await out.event("stream_end", "Stream completed", {
    ...head,
    status: isCancelled ? "cancelled" : "error",
    error: error.message,
  });
  throw error;
}

async function execute(input: RunInput, ports: RunPorts, out: OutputStream, signal: AbortSignal): Promise<RunOutcome> {
  if (signal.aborted) throw new MeshError("cancelled", "the run was cancelled");
  const assistant = assistantOf(input);
  if (!callsModel(assistant, presetOf(input.metadata))) {
    return { output: "", finish_reason: SKIPPED, usage: undefined };
  }
  const { connector, request } = prepareModelCall(input, assistant, ports.clock);
  const result = await streamModel(ports.chat(connector.type)(connector, request, signal), out);
  return { output: result.text, finish_reason: result.finishReason, usage: result.usage };
}

function assistantOf(input: RunInput): Assistant {
  const assistant = input.app.assistants.get(input.assistantId);
  if (assistant !== undefined) return assistant;
  const ids = [...input.app.assistants.keys()];
  const known =
    ids.length === 0 ? "the app has none" : `the app has ${ids.slice(0, 10).join(", ")}${ids.length > 10 ? ", …" : ""}`;
  throw new MeshError("not_found", `there is no assistant "${input.assistantId}"; ${known}`);
}

function headOf({ context }: RunInput): JsonObject {
  return { context_id: context.runId, request_id: context.runId };
}

function startOf(input: RunInput): JsonObject {
  const { chatId } = input.context;
  return {
    ...headOf(input),
    ...(chatId === undefined ? {} : { chat_id: chatId }),
    assistant: { id: input.assistantId, ...descriptionOf(input) },
    ...(Object.keys(input.metadata).length === 0 ? {} : { metadata: input.metadata }),
  };
}

function descriptionOf({ app, assistantId, context }: RunInput): JsonObject {
  const assistant = app.assistants.get(assistantId);
  if (assistant === undefined) return {};
  const { name, description } = localizeAssistant(assistant, context.locale ?? "", app);
  return { name, description, ...(assistant.avatar === undefined ? {} : { avatar: assistant.avatar }) };
}

function usageOf(outcome: RunOutcome): JsonObject {
  return {
    ...(outcome.usage === undefined ? {} : { usage: { ...outcome.usage } }),
    metadata: {
      finish_reason: outcome.finish_reason,
      ...(outcome.finish_reason === SKIPPED ? { note: "the assistant has no prompts, so no model was called" } : {}),
    },
  };
}

function errorOf(thrown: unknown, input: RunInput, signal: AbortSignal): MeshError {
  if (signal.aborted) return new MeshError("cancelled", "the run was cancelled", { cause: thrown });
  const error = MeshError.from(thrown);
  if (error.code !== "internal") return error;
  return new MeshError(
    "internal",
    `something went wrong inside the run; the log of its device has more under ${input.context.runId}`,
    {
      cause: thrown,
    },
  );
}
