/**
 * One run of an assistant, from its input to its last event.
 *
 * R1  The stream begins with `stream_start` and ends with exactly one `stream_end`, whatever happens between.
 * R2  A failed run says why in an `error` message before `stream_end`, then throws the same error; a cancelled one throws `cancelled`.
 * R3  The text of an internal error stays here: users see the run's id instead.
 */

import { localizeAssistant } from "@mesh/assistants";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { type AgentResponse, callAgent } from "./agent-call.ts";
import { AgentContext } from "./agent-context.ts";
import { chatText, type ChatMessage } from "./chat-message.ts";
import type { OutputMessage, RunOutcome, Usage } from "./message.ts";
import { usageOf } from "./model-run.ts";
import { type Emit, OutputQueue } from "./output-queue.ts";
import { OutputStream } from "./output-stream.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import { RunShared } from "./run-shared.ts";
import { skips } from "./skip.ts";
import { SpokenText } from "./spoken-text.ts";
import { Trace } from "./trace.ts";

/** How a run ended; a failed or cancelled one may have cost something too. */
type RunEnded =
  | { readonly outcome: RunOutcome; readonly note?: string | undefined }
  | { readonly error: unknown; readonly usage?: Usage | undefined };

/** Where a run's output goes and what stops it. */
interface RunIo {
  readonly out: OutputStream;
  readonly shared: RunShared;
  readonly signal: AbortSignal;
}

/** Runs an assistant once, streaming its output into `emit`; see the file comment for what is guaranteed. */
export async function runAssistant(
  input: RunInput,
  ports: RunPorts,
  emit: Emit,
  signal: AbortSignal,
): Promise<RunOutcome> {
  const queue = new OutputQueue(emit);
  const shared = new RunShared(input, ports, {
    write: (message) => queue.push(message),
    drained: () => queue.drained(),
  });
  const spoken = new SpokenText();
  const out = new OutputStream(ports.clock, (message) => {
    spoken.hear(message);
    shared.write(message);
  });
  const startedMs = ports.clock.monotonic();
  out.event("stream_start", "Stream started", startOf(input));
  await queue.drained();
  const ended = await execute({ out, shared, signal }, spoken).catch(
    (error: unknown): RunEnded => ({ error, usage: usageOf(shared.stats) }),
  );
  shared.close();
  const head = { ...headOf(input), duration_ms: Math.round(ports.clock.monotonic() - startedMs) };
  if ("outcome" in ended) {
    const { outcome, note } = ended;
    const { next } = outcome;
    const metadata = {
      finish_reason: outcome.finish_reason,
      ...(note === undefined ? {} : { note }),
      ...(next === undefined ? {} : { next }),
    };
    out.event("stream_end", "Stream completed", { ...head, status: "completed", ...spent(outcome.usage), metadata });
    await queue.drained();
    return outcome;
  }
  const isCancelled = signal.aborted;
  const error = errorOf(ended.error, input, isCancelled);
  out.endAll(isCancelled ? "partial" : "error");
  if (!isCancelled) out.send("error", { message: error.message, code: error.code });
  const status = isCancelled ? "cancelled" : "error";
  out.event("stream_end", "Stream completed", { ...head, status, error: error.message, ...spent(ended.usage) });
  await queue.drained();
  throw error;
}

async function execute({ out, shared, signal }: RunIo, spoken: SpokenText): Promise<RunEnded> {
  if (signal.aborted) throw new MeshError("cancelled", "the run was cancelled");
  const { input, ports } = shared;
  const messages = input.messages ?? [{ role: "user", content: input.input }];
  if (messages.every((message) => chatText(message).trim() === "" && !Array.isArray(message.content))) {
    throw new MeshError("invalid_argument", "the input is empty; say what the assistant should do");
  }
  const { runId } = input.context;
  const isTraced = !skips(input.options, "trace");
  const trace = new Trace(runId, ports.clock, (event) => {
    if (isTraced) shared.write({ type: "trace", props: event });
  });
  const context = new AgentContext({ shared, out, trace, signal, depth: 0 });
  try {
    const response = await callAgent({ assistantId: input.assistantId, messages, options: input.options }, context);
    await remember(messages, spoken, shared, signal);
    trace.markComplete();
    return { outcome: outcomeOf(response, spoken, shared), note: response.note };
  } catch (error) {
    trace.markComplete(signal.aborted ? "cancelled" : "failed");
    throw error;
  }
}

/** Keeps what was said, so that the next run of the chat knows it. */
async function remember(
  messages: readonly ChatMessage[],
  spoken: SpokenText,
  { input, ports }: RunShared,
  signal: AbortSignal,
): Promise<void> {
  if (input.context.chatId === undefined || ports.state === undefined || skips(input.options, "history")) return;
  const asked = messages.findLast((message) => message.role === "user");
  const answered = spoken.text;
  const said = [
    ...(asked === undefined ? [] : [asked]),
    ...(answered === "" ? [] : [{ role: "assistant", content: answered }]),
  ];
  await ports.state.call("chat", "Append", [said as unknown as Json], signal);
}

function outcomeOf({ completion, next }: AgentResponse, spoken: SpokenText, { stats }: RunShared): RunOutcome {
  const said = completion?.content ?? spoken.text;
  const made = next === undefined || next === null ? "" : typeof next === "string" ? next : JSON.stringify(next);
  return {
    output: said === "" ? made : said,
    finish_reason: completion?.finish_reason ?? "skipped",
    usage: usageOf(stats),
    ...(next === undefined ? {} : { next }),
  };
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
