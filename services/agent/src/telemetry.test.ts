import { afterEach, expect, test } from "vitest";

import type { SpanValue, Telemetry } from "./telemetry.ts";
import { bench, ScriptedProvider, scriptedModel, scriptedTool, transcriptFaults } from "./testing/index.ts";

afterEach(() => {
  expect(transcriptFaults()).toEqual([]);
});

interface Recorded {
  readonly name: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, SpanValue>;
  isEnded: boolean;
}

function recorder(): { readonly spans: Recorded[]; readonly telemetry: Telemetry } {
  const spans: Recorded[] = [];
  const bySpan = new Map<unknown, Recorded>();
  const telemetry: Telemetry = {
    childContext: (parent) => parent,
    tracer: {
      startSpan: (name, options, context) => {
        const recorded: Recorded = {
          name,
          parent: bySpan.get(context)?.name,
          attributes: { ...options?.attributes },
          isEnded: false,
        };
        const span = {
          setAttribute: (key: string, value: SpanValue) => void (recorded.attributes[key] = value),
          end: () => void (recorded.isEnded = true),
        };
        spans.push(recorded);
        bySpan.set(span, recorded);
        return span;
      },
    },
  };
  return { spans, telemetry };
}

const model = scriptedModel({ cost: { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 } });

test("a run is a span with one child per request and one per tool, with tokens, cost and errors, all ended", async () => {
  const { spans, telemetry } = recorder();
  const provider = new ScriptedProvider(
    { calls: [{ name: "good" }, { name: "bad" }], usage: { input: 2, output: 3, cacheRead: 5 } },
    { text: "." },
  );
  const tools = [scriptedTool("good", () => "ok"), scriptedTool("bad", () => Promise.reject(new Error("no")))];
  await bench(provider, { model, tools, telemetry }).start("x");
  expect(spans.map(({ name, parent, isEnded }) => [name, parent, isEnded])).toEqual([
    ["agent_loop", undefined, true],
    ["llm_stream", "agent_loop", true],
    ["tool", "agent_loop", true],
    ["tool", "agent_loop", true],
    ["llm_stream", "agent_loop", true],
  ]);
  expect(spans[1]?.attributes).toMatchObject({
    turn: 0,
    tokens_in: 2,
    tokens_out: 3,
    tokens_cached: 5,
    cost_usd: 2,
    "gen_ai.usage.input_tokens": 7,
  });
  expect(spans.slice(2, 4).map((span) => span.attributes["is_error"])).toEqual([false, true]);
});

test("a tracer that throws never touches the run", async () => {
  const broken: Telemetry = {
    tracer: {
      startSpan: () => {
        throw new Error("exporter down");
      },
    },
  };
  expect((await bench(new ScriptedProvider({ text: "." }), { telemetry: broken }).start("x")).end.kind).toBe(
    "completed",
  );
});
