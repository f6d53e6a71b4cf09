/** OpenAI's Agents SDK as its documentation shows it: a runner over an agent, the history carried from run to run. */

/** Makes the library from its installed packages. */
export function openAiAgentsLibrary(sdk, { OpenAI }) {
  sdk.setTracingDisabled(true);
  return {
    name: "@openai/agents",
    protocols: ["openai-completions", "openai-responses"],
    abilities: ["abort", "seed", "approval"],
    open: (place, options) => new AgentsSession(sdk, OpenAI, place, options),
  };
}

class AgentsSession {
  #runner;
  #agent;
  #items;
  #state;
  #stop = new AbortController();

  constructor(sdk, OpenAI, { protocol, baseUrl }, { tools = [], seed = [] }) {
    const client = new OpenAI({ apiKey: "k", baseURL: baseUrl, maxRetries: 0 });
    const Model = protocol === "openai-responses" ? sdk.OpenAIResponsesModel : sdk.OpenAIChatCompletionsModel;
    this.#items = seed.flatMap(itemsOf);
    this.#runner = new sdk.Runner({ tracingDisabled: true });
    this.#agent = new sdk.Agent({
      name: "scenario",
      model: new Model(client, "m"),
      tools: tools.map(({ name, needsApproval = false, run }) =>
        sdk.tool({
          name,
          description: `does ${name}`,
          parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
          strict: false,
          needsApproval,
          // By default an error of a tool is told to the model; a cancelled one is left as it is.
          execute: (args, _context, details) => run(args, details?.signal ?? this.#stop.signal),
        }),
      ),
    });
  }

  prompt(text) {
    return this.#run([...this.#items, { role: "user", content: text }]);
  }

  abort() {
    this.#stop.abort();
  }

  waiting() {
    return (this.#state?.getInterruptions() ?? []).map((item) => item.rawItem.callId);
  }

  answer() {
    const state = this.#state;
    for (const item of state.getInterruptions()) state.approve(item);
    return this.#run(state);
  }

  async #run(input) {
    this.#stop = new AbortController();
    this.#state = undefined;
    try {
      const stream = await this.#runner.run(this.#agent, input, { stream: true, signal: this.#stop.signal });
      for await (const event of stream) void event;
      await stream.completed;
      this.#items = stream.history;
      if (this.#stop.signal.aborted) return { kind: "cancelled" };
      if (stream.interruptions.length === 0) return { kind: "completed" };
      this.#state = stream.state;
      return { kind: "waiting" };
    } catch (error) {
      if (Array.isArray(input)) this.#items = input;
      return this.#stop.signal.aborted
        ? { kind: "cancelled" }
        : { kind: "failed", error: String(error?.message ?? error) };
    }
  }

  history() {
    const entries = [];
    for (const item of this.#items) {
      if (item.type === "function_call") {
        const call = { id: item.callId, name: item.name, arguments: JSON.parse(item.arguments) };
        const last = entries.at(-1);
        if (last?.role === "assistant") last.calls.push(call);
        else entries.push({ role: "assistant", text: "", calls: [call] });
      } else if (item.type === "function_call_result") {
        const text = typeof item.output === "string" ? item.output : (item.output?.text ?? "");
        entries.push({ role: "result", callId: item.callId, name: item.name, text });
      } else if (item.role === "user" || item.role === "assistant") {
        const text =
          typeof item.content === "string" ? item.content : item.content.map((part) => part.text ?? "").join("");
        entries.push(item.role === "user" ? { role: "user", text } : { role: "assistant", text, calls: [] });
      }
    }
    return entries;
  }
}

function itemsOf(entry) {
  if (entry.role === "user") return [{ role: "user", content: entry.text }];
  return entry.calls.map((call) => ({
    type: "function_call",
    callId: call.id,
    name: call.name,
    arguments: JSON.stringify(call.arguments),
    status: "completed",
  }));
}
