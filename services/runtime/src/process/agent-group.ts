/** `agent.Call`: an agent without a reader, asked by its id and given so long to answer. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";
import type { ProcessCaller } from "@mesh/scripts";
import { functionGroup, type ProcessArgs, type ProcessGroup } from "@mesh/scripts/process";

import type { AgentContext } from "../agent-context.ts";
import { readChatMessages } from "../chat-message.ts";
import { skips } from "../skip.ts";
import { toldError } from "../told-error.ts";
import { callerOf } from "./run-caller.ts";

const DEFAULT_TIMEOUT_S = 600;
const MAX_TIMEOUT_S = 24 * 3600;

/** The group `agent`. */
export const agentGroup: ProcessGroup = functionGroup({
  /** Takes `{assistant_id, messages, model?, skip?, metadata?, locale?, route?, timeout?}`, the time in seconds. */
  Call: async (args, caller) => {
    const request = args.object(0, "request");
    const { assistant_id: agent, timeout } = request;
    if (typeof agent !== "string" || agent === "") return args.refuse("needs the assistant_id of an agent");
    const { context, scripts } = callerOf(caller);
    const limit = new AbortController();
    const seconds = typeof timeout === "number" && timeout > 0 ? Math.min(timeout, MAX_TIMEOUT_S) : DEFAULT_TIMEOUT_S;
    const cancelLimit = context.shared.ports.clock.after(seconds * 1000, () => limit.abort());
    const around = AbortSignal.any([context.signal, caller.signal]);
    try {
      return await answerOf(agent, request, { context, scripts, signal: AbortSignal.any([around, limit.signal]) });
    } catch (error) {
      const isLate = limit.signal.aborted && !around.aborted;
      const text = isLate ? `${agent} took longer than ${seconds} s` : toldError(error, context.shared).message;
      return { agent_id: agent, error: text };
    } finally {
      cancelLimit();
    }
  },
});

/** `agents.<id>.Stream(ctx, messages, options?)`: asks an agent and waits for its answer; fails as the agent does. */
export async function streamAgent(agent: string, args: ProcessArgs, caller: ProcessCaller): Promise<Json> {
  const { context, scripts } = callerOf(caller);
  const request = { ...args.object(2, "options", {}), messages: args.json(1) };
  return answerOf(agent, request, { context, scripts, signal: AbortSignal.any([context.signal, caller.signal]) });
}

interface Call {
  readonly context: AgentContext;
  readonly scripts: number | undefined;
  readonly signal: AbortSignal;
}

async function answerOf(agent: string, request: JsonObject, { context, scripts, signal }: Call): Promise<Json> {
  const { messages = [], model, skip, metadata, locale, route } = request;
  const options: JsonObject = {
    ...(typeof model === "string" ? { connector: model } : {}),
    ...(isObject(skip) ? { skip } : {}),
  };
  const fork = context.fork({
    isSilent: true,
    skipTrace: skips(options, "trace"),
    metadata: isObject(metadata) ? metadata : {},
    signal,
    scripts,
  });
  if (typeof locale === "string") fork.locale = locale;
  if (typeof route === "string") fork.route = route;
  const asked = { assistantId: agent, messages: readChatMessages(messages, "messages"), options };
  const response = await context.shared.callAgent(asked, fork);
  return { agent_id: agent, response: response as unknown as Json, content: response.completion?.content ?? "" };
}
