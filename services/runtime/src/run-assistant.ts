/**
 * One run of an assistant, from its input to its last event.
 *
 * R1  The stream begins with `stream_start` and ends with exactly one `stream_end`, whatever happens between. A run that
 *     waits for a person is one stream all the same: its segments end and begin without either, and ids count on.
 * R2  A failed run says why in an `error` message before `stream_end`, then throws the same error; a cancelled one throws `cancelled`.
 * R3  The text of an internal error stays here: users see the run's id instead.
 */

import { localizeAssistant } from "@mesh/assistants";
import { type Clock, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { callAgent, resumeAgent, Suspension } from "./agent-call.ts";
import { AgentContext } from "./agent-context.ts";
import { type AgentResponse, assistantOf } from "./agent-request.ts";
import { chatText, type ChatMessage } from "./chat-message.ts";
import { type Conversation, conversationOf } from "./content/conversation.ts";
import { assertFits } from "./event-size.ts";
import { keptMessage } from "./kept-message.ts";
import type { OutputMessage, RunOutcome, SuspendedRun, Usage } from "./message.ts";
import { usageOf } from "./model-run.ts";
import { lazyOps } from "./op/lazy-ops.ts";
import { type Emit, OutputQueue } from "./output-queue.ts";
import { OutputIds, OutputStream } from "./output-stream.ts";
import { pendingItems } from "./pending.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import { RunShared } from "./run-shared.ts";
import { readSavedRun, type SavedRun, writeSavedRun } from "./saved-run.ts";
import { skips } from "./skip.ts";
import { SpokenText } from "./spoken-text.ts";
import { runTool, toolRunOf } from "./tool-run.ts";
import { toldError } from "./told-error.ts";
import { Trace } from "./trace.ts";

/** Of what people said to it, as much as a chat takes from one run with its own question and answer. */
const MAX_HEARD = 98;

/** How a run ended; a failed or cancelled one may have cost something too. */
type RunEnded =
  | { readonly outcome: RunOutcome; readonly note?: string | undefined }
  | { readonly suspended: SuspendedRun }
  | { readonly error: unknown; readonly usage?: Usage | undefined };

/** Where a run's output goes and what stops it. */
interface RunIo {
  readonly out: OutputStream;
  readonly shared: RunShared;
  readonly spoken: SpokenText;
  /** The run to go on with; undefined for a new one. */
  readonly saved: SavedRun | undefined;
  readonly signal: AbortSignal;
}

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
  const shared = new RunShared(input, ports, {
    write: (message) => queue.push(message),
    drained: () => queue.drained(),
    callAgent,
    opsOf: lazyOps,
    citations: saved?.counts?.citations,
    heard: saved?.heard,
  });
  const spoken = new SpokenText(saved?.spoken);
  const hear = (message: OutputMessage): void => {
    spoken.hear(message);
    shared.write(message);
  };
  const out = new OutputStream(ports.clock, hear, { ids: new OutputIds(saved?.output) });
  const startedMs = ports.clock.monotonic() - (saved?.agent.counters.elapsedMs ?? 0);
  if (saved === undefined) out.event("stream_start", "Stream started", startOf(input));
  await queue.drained();
  const ended = await execute({ out, shared, spoken, saved, signal }).catch((error: unknown): RunEnded => ({
    error,
    usage: usageOf(shared.stats),
  }));
  shared.close();
  if ("suspended" in ended && !signal.aborted) {
    await queue.end();
    return ended.suspended;
  }
  return close(ended, { out, queue, shared, isCancelled: signal.aborted, startedMs, clock: ports.clock });
}

interface Closing {
  readonly out: OutputStream;
  readonly queue: OutputQueue;
  readonly shared: RunShared;
  readonly isCancelled: boolean;
  readonly startedMs: number;
  readonly clock: Clock;
}

/** Writes the end of the stream; throws what the run failed with. */
async function close(ended: RunEnded, closing: Closing): Promise<RunOutcome> {
  const { out, queue, shared, isCancelled, startedMs, clock } = closing;
  const head = { duration_ms: Math.round(clock.monotonic() - startedMs), ...headOf(shared.input) };
  if ("outcome" in ended) {
    const { outcome, note } = ended;
    const { finish_reason, next } = outcome;
    const metadata = {
      finish_reason,
      ...(note === undefined ? {} : { note }),
      ...(next === undefined ? {} : { next }),
    };
    out.event("stream_end", "Stream completed", { status: "completed", metadata, ...head, ...spent(outcome.usage) });
    await queue.end();
    return outcome;
  }
  const { error: thrown, usage } = "error" in ended ? ended : { error: undefined };
  const error = isCancelled
    ? new MeshError("cancelled", "the run was cancelled", { cause: thrown })
    : toldError(thrown, shared);
  out.endAll(isCancelled ? "partial" : "error");
  if (!isCancelled) out.send("error", { message: error.message, code: error.code });
  const status = isCancelled ? "cancelled" : "error";
  out.event("stream_end", "Stream completed", { status, error: error.message, ...head, ...spent(usage) });
  await queue.end();
  throw error;
}

async function execute(io: RunIo): Promise<RunEnded> {
  const { out, shared, spoken, saved, signal } = io;
  if (signal.aborted) throw new MeshError("cancelled", "the run was cancelled");
  const { input, ports } = shared;
  const toolRun = toolRunOf(input.options);
  const asked = conversationOf(input);
  const { messages } = asked;
  if (
    toolRun === undefined &&
    messages.every((message) => chatText(message).trim() === "" && !Array.isArray(message.content))
  ) {
    throw new MeshError("invalid_argument", "the input is empty; say what the assistant should do");
  }
  const { runId } = input.context;
  const isTraced = !skips(input.options, "trace");
  const tell = (event: JsonObject): void => {
    if (isTraced) shared.write({ type: "trace", props: event });
  };
  const trace = new Trace(runId, ports.clock, tell, saved?.counts);
  const context = new AgentContext({ shared, out, trace, signal, depth: 0 });
  if (saved?.spent !== undefined) shared.spend(saved.spent);
  if (toolRun !== undefined) {
    const { output, next } = await runTool(toolRun, assistantOf(input.assistantId, input), context);
    assertFits(next, "the result of the tool", "ask it for less at a time");
    return { outcome: { output, finish_reason: "stop", usage: usageOf(shared.stats), next } };
  }
  try {
    const response = await answer(asked, context, saved);
    const { next = null } = response;
    assertFits(next, "what the Next hook returned", "write it to a file of the workspace and return its path");
    await remember(messages, spoken, shared, signal);
    trace.markComplete();
    return { outcome: outcomeOf(response, spoken, shared), note: response.note };
  } catch (error) {
    if (error instanceof Suspension) return { suspended: suspendedRun(error, trace, io) };
    trace.markComplete(signal.aborted ? "cancelled" : "failed");
    throw error;
  }
}

function answer(
  { messages, options }: Conversation,
  context: AgentContext,
  saved: SavedRun | undefined,
): Promise<AgentResponse> {
  const { assistantId, resume } = context.shared.input;
  if (saved === undefined) return callAgent({ assistantId, messages, options }, context);
  const { locale, theme, route, referer, metadata } = context;
  const { call = { assistantId, options, messages, create: null, locale, theme, route, referer, metadata } } = saved;
  return resumeAgent({ ...saved, call }, resume?.answers ?? [], context);
}

function suspendedRun({ waiting, saved }: Suspension, trace: Trace, { out, shared, spoken }: RunIo): SuspendedRun {
  const pending = pendingItems(waiting);
  const { stats: spent, citations } = shared;
  const counts = { ...trace.pause(), citations };
  const state = { ...saved, output: out.ids.position, spent, spoken: spoken.text, heard: shared.heard, counts };
  return { pending, state: writeSavedRun(state) };
}

/** Keeps what was said, so that the next run of the chat knows it. */
async function remember(
  messages: readonly ChatMessage[],
  spoken: SpokenText,
  { input, ports, heard }: RunShared,
  signal: AbortSignal,
): Promise<void> {
  if (input.context.chatId === undefined || ports.state === undefined || skips(input.options, "history")) return;
  const asked = messages.findLast((message) => message.role === "user");
  const answered = spoken.text;
  const said = [
    ...(asked === undefined ? [] : [keptMessage(asked)]),
    ...heard.slice(0, MAX_HEARD).map((text) => keptMessage({ role: "user", content: text })),
    ...(answered === "" ? [] : [keptMessage({ role: "assistant", content: answered })]),
  ];
  await ports.state.call("chat", "Append", [said as unknown as Json], signal);
}

function outcomeOf(response: AgentResponse, spoken: SpokenText, { stats }: RunShared): RunOutcome {
  const { completion, next } = response;
  // A model that only called tools has said nothing; what the hooks have sent is what was said.
  const said = completion === undefined || completion.content === "" ? spoken.text : completion.content;
  const made = next === undefined || next === null ? "" : typeof next === "string" ? next : JSON.stringify(next);
  return {
    output: said === "" ? made : said,
    finish_reason: completion?.finish_reason ?? "skipped",
    usage: usageOf(stats),
    ...(next === undefined ? {} : { next }),
    response,
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
