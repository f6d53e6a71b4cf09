import fc from "fast-check";

import type { AgentMessage } from "../message.ts";

const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ minLength: 100, maxLength: 900, unit: "grapheme" }));
const long = fc
  .tuple(fc.integer({ min: 1, max: 300 }), fc.string({ minLength: 1, maxLength: 30 }))
  .map(([lines, line]) =>
    Array.from({ length: lines }, (_, index) => `${index} ${line.replaceAll("\n", " ")}`).join("\n"),
  );

/** One turn: what a person says, or an answer with its calls and their results. */
const turn = fc.oneof(
  text.map((said) => ({ kind: "user" as const, said })),
  fc.record({
    kind: fc.constant("answer" as const),
    said: text,
    results: fc.array(fc.oneof(text, long), { maxLength: 4 }),
    aside: fc.boolean(),
  }),
);

/** Sound histories, with parallel calls, long results and application messages. */
export const transcript: fc.Arbitrary<readonly AgentMessage[]> = fc
  .tuple(text, fc.array(turn, { maxLength: 25 }))
  .map(([first, turns]) => {
    const history: AgentMessage[] = [user(first, 0)];
    for (const [index, each] of turns.entries()) {
      if (each.kind === "user") history.push(user(each.said, index));
      else history.push(...answer(each, index));
    }
    return history;
  });

function user(said: string, timestamp: number): AgentMessage {
  return { role: "user", content: [{ type: "text", text: said }], timestamp };
}

function answer(
  turn: { readonly said: string; readonly results: readonly string[]; readonly aside: boolean },
  index: number,
): AgentMessage[] {
  const calls = turn.results.map((_, at) => ({
    type: "toolCall" as const,
    id: `c${index}_${at}`,
    name: "tool",
    arguments: { at },
  }));
  const results = turn.results.map((result, at): AgentMessage => ({
    role: "toolResult",
    toolCallId: `c${index}_${at}`,
    toolName: "tool",
    content: [{ type: "text", text: result }],
    isError: false,
    timestamp: index,
  }));
  const aside: AgentMessage[] = turn.aside ? [{ role: "extension", kind: "note", data: index }] : [];
  return [
    {
      role: "assistant",
      content: [{ type: "text", text: turn.said }, ...calls],
      stopReason: calls.length > 0 ? "toolUse" : "stop",
      model: "m",
      provider: "p",
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
      timestamp: index,
    },
    ...results.slice(0, 1),
    ...aside,
    ...results.slice(1),
  ];
}
