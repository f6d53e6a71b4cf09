/**
 * One run of an assistant, from its input to its last event.
 *
 * R1  The stream begins with `stream_start` and ends with exactly one `stream_end`, whatever happens between. A run that
 *     waits for a person is one stream all the same: its segments end and begin without either, and ids count on.
 * R2  A failed run says why in an `error` message before `stream_end`, then throws the same error; a cancelled one throws `cancelled`.
 * R3  The text of an internal error stays here: users see the run's id instead.
 */

import { type Assistant, localizeAssistant } from "@mesh/assistants";
import { type JsonObject, MeshError } from "@mesh/kernel";

import type { RunOutcome, SuspendedRun, Usage } from "./message.ts";
import { callsModel, prepareModelCall, presetOf } from "./model-call.ts";
import { type Emit, OutputQueue } from "./output-queue.ts";
import { OutputStream } from "./output-stream.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import { type LoopIo, type RunEnded, runLoop } from "./run-loop.ts";
import { readSavedRun } from "./saved-run.ts";

/** Runs an assistant to its end or until it waits for a person, streaming its output into `emit`; see the file comment. */
export async function runAssistant(
  input: RunInput,
  ports: RunPorts,
  emit: Emit,
  signal: AbortSignal,
): Promise<RunOutcome | SuspendedRun> {
  // Without it nobody knows which ids the stream has used, so a state that cannot be read fails without a word in it.
  const saved = input.resume === undefined ? undefined : readSavedRun(input.resume.state);
  const queue = new OutputQueue(emit);
  const out = new OutputStream(ports.clock, (message) => queue.push(message), saved?.output);
  const startedMs = ports.clock.monotonic() - (saved?.agent.counters.elapsedMs ?? 0);
  if (saved === undefined) out.event("stream_start", "Stream started", startOf(input));
  await queue.drained();
  const ended = await execute(input, ports, { out, queue, signal, saved }).catch((error: unknown): RunEnded => ({
    error,
  }));
  if ("suspended" in ended && !signal.aborted) {
    await queue.drained();
    return ended.suspended;
  }
  const head = { ...headOf(input), duration_ms: Math.round(ports.clock.monotonic() - startedMs) };
  if ("outcome" in ended) {
    const { outcome, note } = ended;
    const metadata = { finish_reason: outcome.finish_reason, ...(note === undefined ? {} : { note }) };
    out.event("stream_end", "Stream completed", { ...head, status: "completed", ...spent(outcome.usage), metadata });
    await queue.drained();
    return outcome;
  }
  const isCancelled = signal.aborted;
  const { error: thrown, usage } = "error" in ended ? ended : { error: undefined };
  const error = errorOf(thrown, input, isCancelled);
  out.endAll(isCancelled ? "partial" : "error");
  if (!isCancelled) out.send("error", { message: error.message, code: error.code });
  const status = isCancelled ? "cancelled" : "error";
  out.event("stream_end", "Stream completed", { ...head, status, error: error.message, ...spent(usage) });
  await queue.drained();
  throw error;
}

async function execute(input: RunInput, ports: RunPorts, io: LoopIo): Promise<RunEnded> {
  if (io.signal.aborted) throw new MeshError("cancelled", "the run was cancelled");
  const assistant = assistantOf(input);
  if (!callsModel(assistant, presetOf(input.metadata))) {
    const outcome = { output: "", finish_reason: "skipped", usage: undefined };
    return { outcome, note: "the assistant has no prompts, so no model was called" };
  }
  return runLoop(prepareModelCall(input, assistant, ports), input, ports, io);
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

function spent(usage: Usage | undefined): JsonObject {
  return usage === undefined ? {} : { usage: { ...usage } };
}

function errorOf(thrown: unknown, input: RunInput, isCancelled: boolean): MeshError {
  if (isCancelled) return new MeshError("cancelled", "the run was cancelled", { cause: thrown });
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
