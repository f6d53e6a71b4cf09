/** A scripted reply in the wire format of OpenAI chat completions, streamed or whole. */

import { pieces, type Reply, type SeenRequest } from "./script.ts";

const CREATED = 1_700_000_000;

/** The payloads of the server-sent events of a reply, in order. */
export function openAiEvents(reply: Reply, request: SeenRequest, id: string): readonly string[] {
  const chunk = (choices: readonly unknown[], extra: object = {}): string =>
    JSON.stringify({ id, object: "chat.completion.chunk", created: CREATED, model: request.model, choices, ...extra });
  const delta = (value: object, finishReason: string | null = null): string =>
    chunk([{ index: 0, delta: value, finish_reason: finishReason }]);

  const events = [delta({ role: "assistant", content: "" })];
  for (const piece of pieces(reply.thinking)) events.push(delta({ reasoning_content: piece }));
  for (const piece of pieces(reply.text)) events.push(delta({ content: piece }));
  for (const call of toolCalls(reply)) {
    const [first = "", ...rest] = call.pieces;
    const head = { index: call.index, id: call.id, type: "function", function: { name: call.name, arguments: first } };
    events.push(delta({ tool_calls: [head] }));
    for (const piece of rest)
      events.push(delta({ tool_calls: [{ index: call.index, function: { arguments: piece } }] }));
  }
  const reason = finishReasonOf(reply);
  if (reason !== null) events.push(delta({}, reason));
  const usage = usageOf(reply, request);
  if (usage !== undefined && wantsUsage(request)) events.push(chunk([], { usage }));
  if (reply.endMarker !== false) events.push("[DONE]");
  return events;
}

/** The whole answer, for a request that does not stream. */
export function openAiDocument(reply: Reply, request: SeenRequest, id: string): string {
  const calls = toolCalls(reply).map((call) => ({
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: call.pieces.join("") },
  }));
  const thinking = pieces(reply.thinking).join("");
  const message = {
    role: "assistant",
    content: pieces(reply.text).join(""),
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const usage = usageOf(reply, request);
  return JSON.stringify({
    id,
    object: "chat.completion",
    created: CREATED,
    model: request.model,
    choices: [{ index: 0, message, finish_reason: finishReasonOf(reply) }],
    ...(usage === undefined ? {} : { usage }),
  });
}

/** The body of GET /v1/models. */
export function openAiModels(models: readonly string[]): string {
  const data = models.map((id) => ({ id, object: "model", created: CREATED, owned_by: "scripted" }));
  return JSON.stringify({ object: "list", data });
}

/** OpenAI's error envelope. */
export function openAiError(message: string, type: string, code: string | null = null): string {
  return JSON.stringify({ error: { message, type, param: null, code } });
}

interface WireToolCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly pieces: readonly string[];
}

function toolCalls(reply: Reply): readonly WireToolCall[] {
  return (reply.toolCalls ?? []).map((call, index) => ({
    index,
    id: call.id ?? `call_${index + 1}`,
    name: call.name,
    pieces: typeof call.arguments === "string" ? [call.arguments] : call.arguments,
  }));
}

function finishReasonOf(reply: Reply): string | null {
  if (reply.finishReason !== undefined) return reply.finishReason;
  return (reply.toolCalls ?? []).length > 0 ? "tool_calls" : "stop";
}

function usageOf(reply: Reply, request: SeenRequest): object | undefined {
  if (reply.usage === null) return undefined;
  const prompt = reply.usage?.prompt_tokens ?? words(request.text);
  const completion =
    reply.usage?.completion_tokens ?? words([...pieces(reply.thinking), ...pieces(reply.text)].join(""));
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function wantsUsage(request: SeenRequest): boolean {
  const options = request.json?.["stream_options"];
  return (
    typeof options === "object" && options !== null && "include_usage" in options && options.include_usage === true
  );
}

function words(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
