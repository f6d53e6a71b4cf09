import {
  type ApiProtocol,
  type AssistantMessage,
  type Content,
  type ModelConfig,
  NO_USAGE,
  ProviderError,
  type ProviderErrorInit,
  type StopReason,
  type StreamConfig,
  type StreamProvider,
  type StreamSink,
  type Usage,
} from "@mesh/llm";

import { checkTranscript } from "../transcript.ts";

/** A call in a script. */
export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments?: Record<string, unknown>;
  readonly malformed?: { readonly kind: "truncated" | "invalid"; readonly reason: string; readonly raw: string };
}

/** One answer of a scripted model. */
export interface ScriptedStep {
  readonly thinking?: string;
  /** Several texts are sent as that many deltas. */
  readonly text?: string | readonly string[];
  readonly calls?: readonly ScriptedCall[];
  readonly stopReason?: StopReason;
  readonly errorMessage?: string;
  readonly usage?: Partial<Usage>;
  readonly responseId?: string;
  /** Fails after what was said. */
  readonly error?: ProviderErrorInit;
  /** Throws this as it is, like a provider with a bug. */
  readonly throws?: unknown;
  /** Waits, after what was said, until this resolves or the call is aborted. */
  readonly until?: Promise<unknown>;
  /** Never ends, not even when aborted. */
  readonly ignoresAbort?: boolean;
  /** Sends no events, only the answer. */
  readonly isSilent?: boolean;
}

/** A model that answers from a script and checks that every request is a transcript a provider would accept. */
export class ScriptedProvider implements StreamProvider {
  readonly protocol: ApiProtocol = "demo";
  readonly requests: StreamConfig[] = [];
  /** Faults of the requests it was sent; must stay empty. */
  readonly faults: string[] = [];
  readonly #steps: (ScriptedStep | ((request: StreamConfig) => ScriptedStep))[];
  #calls = 0;

  constructor(...steps: readonly (ScriptedStep | ((request: StreamConfig) => ScriptedStep))[]) {
    this.#steps = [...steps];
  }

  async stream(config: StreamConfig, sink: StreamSink, signal: AbortSignal): Promise<AssistantMessage> {
    this.requests.push({ ...config, messages: [...config.messages] });
    this.faults.push(
      ...checkTranscript(config.messages).map((fault) => `${fault.rule} at ${fault.index}: ${fault.text}`),
    );
    const next = this.#steps.length > 1 || typeof this.#steps[0] === "object" ? this.#steps.shift() : this.#steps[0];
    if (next === undefined) throw new Error("the script is exhausted");
    const step = typeof next === "function" ? next(config) : next;
    await Promise.resolve();
    const said = this.#say(step, config, sink);
    if (step.ignoresAbort === true) await new Promise(() => undefined);
    if (step.until !== undefined) await Promise.race([step.until, abortOf(signal)]);
    if (signal.aborted) throw this.#failed({ errorClass: "aborted", message: "aborted" }, said, sink);
    if ("throws" in step) throw step.throws;
    if (step.error !== undefined) throw this.#failed(step.error, said, sink);
    if (step.isSilent !== true) sink({ type: "done", message: said });
    return said;
  }

  #say(step: ScriptedStep, config: StreamConfig, sink: StreamSink): AssistantMessage {
    const emit: StreamSink = step.isSilent === true ? () => undefined : sink;
    const empty = emptyAnswer(step, config);
    emit({ type: "start", message: empty });
    return { ...empty, content: this.#blocks(step, emit) };
  }

  #blocks(step: ScriptedStep, emit: StreamSink): readonly Content[] {
    const content: Content[] = [];
    if (step.thinking !== undefined) {
      emit({ type: "thinkingDelta", contentIndex: content.length, delta: step.thinking });
      content.push({ type: "thinking", thinking: step.thinking });
    }
    const texts = typeof step.text === "string" ? [step.text] : (step.text ?? []);
    for (const delta of texts) emit({ type: "textDelta", contentIndex: content.length, delta });
    if (texts.length > 0) content.push({ type: "text", text: texts.join("") });
    for (const call of step.calls ?? []) {
      this.#calls += 1;
      const id = call.id ?? `call_${this.#calls}`;
      const args = (call.arguments ?? {}) as Record<string, never>;
      emit({ type: "toolCallDelta", contentIndex: content.length, id, name: call.name, delta: JSON.stringify(args) });
      const malformed = call.malformed === undefined ? {} : { malformed: call.malformed };
      content.push({ type: "toolCall", id, name: call.name, arguments: args, ...malformed });
    }
    return content;
  }

  #failed(init: ProviderErrorInit, said: AssistantMessage, sink: StreamSink): ProviderError {
    const error = new ProviderError(init);
    const stopReason = init.errorClass === "aborted" ? "aborted" : "error";
    const content = said.content.filter((part) => part.type !== "toolCall");
    error.partial = { ...said, content, stopReason, errorMessage: init.message, errorClass: init.errorClass };
    sink({ type: "error", error, message: error.partial });
    return error;
  }
}

function emptyAnswer(step: ScriptedStep, config: StreamConfig): AssistantMessage {
  const { model } = config;
  return {
    role: "assistant",
    content: [],
    stopReason: step.stopReason ?? ((step.calls ?? []).length > 0 ? "toolUse" : "stop"),
    model: model.id,
    provider: model.provider,
    api: model.api,
    usage: { ...NO_USAGE, ...step.usage },
    timestamp: 0,
    ...(step.errorMessage === undefined ? {} : { errorMessage: step.errorMessage }),
    ...(step.responseId === undefined ? {} : { responseId: step.responseId }),
  };
}

function abortOf(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A model for scripts. */
export function scriptedModel(change: Partial<ModelConfig> = {}): ModelConfig {
  return {
    id: "scripted",
    name: "Scripted",
    api: "demo",
    provider: "scripted",
    reasoning: false,
    contextWindow: 100_000,
    maxTokens: 4096,
    cost: null,
    ...change,
  };
}
