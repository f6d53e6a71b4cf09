/** Vercel's `ai` as its documentation shows it: streamText with tools, the application keeps the messages. */

/** Makes the library from its installed packages. */
export function aiLibrary(ai, { createOpenAICompatible }) {
  return {
    name: "ai (streamText)",
    protocols: ["openai-completions"],
    abilities: ["abort", "turnHook", "seed", "approval", "external"],
    open: (place, options) => new AiSession(ai, createOpenAICompatible, place, options),
  };
}

class AiSession {
  #ai;
  #settings;
  #messages;
  #stop = new AbortController();
  #approvals = new Map();

  constructor(ai, createOpenAICompatible, { baseUrl }, { tools = [], seed = [], beforeTurn }) {
    this.#ai = ai;
    this.#messages = seed.map(messageOf);
    this.#settings = {
      model: createOpenAICompatible({ name: "local", baseURL: baseUrl, apiKey: "k" })("m"),
      tools: Object.fromEntries(tools.map((each) => [each.name, this.#tool(each)])),
      stopWhen: ai.stepCountIs(20),
      maxRetries: 0,
      onError: () => undefined,
      ...(beforeTurn === undefined
        ? {}
        : {
            prepareStep: ({ stepNumber }) => {
              beforeTurn(stepNumber);
              return {};
            },
          }),
    };
  }

  #tool({ name, needsApproval = false, run }) {
    const execute = run === undefined ? {} : { execute: (args, { abortSignal }) => run(args, abortSignal) };
    return this.#ai.tool({
      description: `does ${name}`,
      inputSchema: this.#ai.jsonSchema({ type: "object" }),
      needsApproval,
      ...execute,
    });
  }

  prompt(text) {
    this.#messages.push({ role: "user", content: text });
    return this.#run();
  }

  abort() {
    this.#stop.abort();
  }

  async #run() {
    this.#stop = new AbortController();
    this.#approvals.clear();
    let steps = [];
    const result = this.#ai.streamText({
      ...this.#settings,
      messages: [...this.#messages],
      abortSignal: this.#stop.signal,
      onAbort: (aborted) => {
        ({ steps } = aborted);
      },
    });
    const end = await this.#read(result);
    if (end.kind === "completed") this.#messages.push(...(await result.response).messages);
    else this.#messages.push(...(steps.at(-1)?.response.messages ?? []));
    return end.kind === "completed" && this.waiting().length > 0 ? { kind: "waiting" } : end;
  }

  async #read(result) {
    let end = { kind: "completed" };
    try {
      for await (const part of result.fullStream) {
        if (part.type === "tool-approval-request") this.#approvals.set(part.toolCall.toolCallId, part.approvalId);
        if (part.type === "abort") end = { kind: "cancelled" };
        if (part.type === "error") end = { kind: "failed", error: String(part.error?.message ?? part.error) };
      }
    } catch (error) {
      end = { kind: this.#stop.signal.aborted ? "cancelled" : "failed", error: String(error?.message ?? error) };
    }
    return end;
  }

  waiting() {
    const history = this.history();
    const answered = new Set(history.flatMap((entry) => (entry.role === "result" ? [entry.callId] : [])));
    return history
      .flatMap((entry) => (entry.role === "assistant" ? entry.calls.map((call) => call.id) : []))
      .filter((id) => !answered.has(id));
  }

  answer(answers) {
    const names = new Map(
      this.history().flatMap((entry) =>
        entry.role === "assistant" ? entry.calls.map((call) => [call.id, call.name]) : [],
      ),
    );
    const content = Object.entries(answers).map(([toolCallId, answer]) =>
      answer === true
        ? { type: "tool-approval-response", approvalId: this.#approvals.get(toolCallId), approved: true }
        : { type: "tool-result", toolCallId, toolName: names.get(toolCallId), output: { type: "text", value: answer } },
    );
    this.#messages.push({ role: "tool", content });
    return this.#run();
  }

  history() {
    return this.#messages.flatMap((message) => {
      const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
      const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
      if (message.role === "user") return [{ role: "user", text }];
      if (message.role === "assistant") {
        const calls = parts.filter((part) => part.type === "tool-call");
        return [
          {
            role: "assistant",
            text,
            calls: calls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: call.input })),
          },
        ];
      }
      return parts
        .filter((part) => part.type === "tool-result")
        .map((part) => ({
          role: "result",
          callId: part.toolCallId,
          name: part.toolName,
          text: String(part.output.value),
        }));
    });
  }
}

function messageOf(entry) {
  if (entry.role === "user") return { role: "user", content: entry.text };
  if (entry.role === "result") {
    const { callId: toolCallId, name: toolName, text: value } = entry;
    return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output: { type: "text", value } }] };
  }
  return {
    role: "assistant",
    content: entry.calls.map((call) => ({
      type: "tool-call",
      toolCallId: call.id,
      toolName: call.name,
      input: call.arguments,
    })),
  };
}
