/** The agent that `uses.loop_fallback` names, answering for one whose turns are used up. */

import { type AgentMessage, capText, messageText } from "@mesh/agent";
import type { Assistant } from "@mesh/assistants";
import { toolCallsOf } from "@mesh/llm";

import type { AgentContext } from "../agent-context.ts";
import { answerText, askAgent } from "./ask-agent.ts";
import type { FallbackAnswer } from "./last-answer.ts";
import type { Uses } from "./uses.ts";

const MAX_TURN_BYTES = 8 * 1024;
const MAX_TALK_BYTES = 128 * 1024;

/** The fallback of an assistant; undefined where it has none. */
export function loopFallback(uses: Uses, assistant: Assistant, context: AgentContext): FallbackAnswer | undefined {
  const agent = uses["loop_fallback"] ?? "";
  if (agent === "" || agent === "disabled" || agent === assistant.id) return undefined;
  return async (talk) => {
    const answer = await askAgent({ agent, content: report(talk, assistant) }, context, context.signal);
    const text = answerText(answer, agent);
    const message = context.out.begin("text");
    context.out.append(message, text);
    context.out.end(message, "completed");
    return text;
  };
}

/** The talk as Markdown. */
function report(talk: readonly AgentMessage[], { name, description }: Assistant): string {
  const said = talk.flatMap((message) => {
    if (message.role !== "user" && message.role !== "assistant") return [];
    const calls = message.role === "assistant" ? toolCallsOf(message).map((call) => `(calls ${call.name})`) : [];
    const text = [messageText(message), ...calls].filter((line) => line !== "").join("\n");
    return text === "" ? [] : [`**${message.role}**: ${capped(text)}`];
  });
  const results = talk.flatMap((message) =>
    message.role === "toolResult"
      ? [`### ${message.toolName}${message.isError ? " (failed)" : ""}\n${capped(messageText(message))}`]
      : [],
  );
  const text = [
    `## Assistant Context\n${name}${description === "" ? "" : `: ${description}`}`,
    `## Conversation\n${said.join("\n\n")}`,
    `## Tool Results\n${results.join("\n\n")}`,
  ].join("\n\n");
  return capText(text, { maxLines: Number.POSITIVE_INFINITY, maxBytes: MAX_TALK_BYTES });
}

function capped(text: string): string {
  return capText(text, { maxLines: Number.POSITIVE_INFINITY, maxBytes: MAX_TURN_BYTES });
}
