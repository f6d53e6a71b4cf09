/** Answers of a scripted server, written as the three protocols send them. */

/** One answer. */
export interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

/** A call that an answer makes. */
export interface ScriptCall {
  readonly id: string;
  readonly name: string;
  readonly args?: object;
}

const json = (value: unknown): string => JSON.stringify(value);
const events = (list: readonly unknown[]): string => list.map((event) => `data: ${json(event)}\n\n`).join("");

function chunk(id: string, delta: object, finish: string | null = null): object {
  return {
    id,
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}

/** A text in Chat Completions. */
export function chatText(text: string, id = `chatcmpl-${text.length}`): Answer {
  return {
    body: `${events([chunk(id, { role: "assistant", content: text }), chunk(id, {}, "stop")])}data: [DONE]\n\n`,
  };
}

/** Calls in Chat Completions. */
export function chatCalls(calls: readonly ScriptCall[], id = `chatcmpl-${calls[0]?.id ?? ""}`): Answer {
  const pieces = calls.map((call, index) =>
    chunk(id, {
      tool_calls: [
        { index, id: call.id, type: "function", function: { name: call.name, arguments: json(call.args ?? {}) } },
      ],
    }),
  );
  const first = chunk(id, { role: "assistant", content: null });
  return { body: `${events([first, ...pieces, chunk(id, {}, "tool_calls")])}data: [DONE]\n\n` };
}

/** The prompt is too long, in Chat Completions. */
export const chatOverflow: Answer = {
  status: 400,
  type: "application/json",
  body: json({
    error: {
      message: "This model's maximum context length is 8192 tokens.",
      type: "invalid_request_error",
      code: "context_length_exceeded",
    },
  }),
};

/** An answer of the Responses API from its items; `n` makes its id. */
export function responses(n: number, items: readonly object[]): Answer {
  const list = [
    { type: "response.created", response: { id: `resp_${n}`, status: "in_progress", output: [] } },
    ...items.flatMap((item, index) => [
      { type: "response.output_item.added", output_index: index, item: { ...item, status: "in_progress" } },
      { type: "response.output_item.done", output_index: index, item: { ...item, status: "completed" } },
    ]),
    {
      type: "response.completed",
      response: {
        id: `resp_${n}`,
        status: "completed",
        output: items.map((item) => ({ ...item, status: "completed" })),
        usage: {
          input_tokens: 1,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 1,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 2,
        },
      },
    },
  ];
  return { body: list.map((event) => `event: ${event.type}\ndata: ${json(event)}\n\n`).join("") };
}

/** One block of an Anthropic answer. */
export type Block =
  | { readonly kind: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "call"; readonly call: ScriptCall };

/** An answer of Anthropic's Messages API from its blocks. */
export function messages(blocks: readonly Block[]): Answer {
  const isCalling = blocks.some((block) => block.kind === "call");
  const start = {
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  };
  const end = [
    {
      type: "message_delta",
      delta: { stop_reason: isCalling ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 2 },
    },
    { type: "message_stop" },
  ];
  const list = [start, ...blocks.flatMap((block, index) => blockEvents(block, index)), ...end];
  return { body: list.map((event) => `event: ${event.type}\ndata: ${json(event)}\n\n`).join("") };
}

function blockEvents(block: Block, index: number): readonly { readonly type: string }[] {
  const [opening, ...deltas] = partsOf(block);
  return [
    { type: "content_block_start", index, content_block: opening },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ] as readonly { readonly type: string }[];
}

function partsOf(block: Block): readonly object[] {
  switch (block.kind) {
    case "thinking":
      return [
        { type: "thinking", thinking: "", signature: "" },
        { type: "thinking_delta", thinking: block.thinking },
        { type: "signature_delta", signature: block.signature },
      ];
    case "text":
      return [
        { type: "text", text: "" },
        { type: "text_delta", text: block.text },
      ];
    case "call":
      return [
        { type: "tool_use", id: block.call.id, name: block.call.name, input: {} },
        { type: "input_json_delta", partial_json: json(block.call.args ?? {}) },
      ];
  }
}
