import { type Clock, systemClock } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { createProviders } from "./providers.ts";
import type { StreamEvent } from "./provider.ts";
import { streamWithRetry } from "./stream-with-retry.ts";
import {
  type WireCase,
  type WireCut,
  WIRE_PROTOCOLS,
  wireCases,
  wireModel,
  type WireOutcome,
  problemsOf,
  wireServer,
} from "./testing/index.ts";

const CUTS: readonly WireCut[] = ["whole", "bytes", "pieces", "crlf"];

describe.each(WIRE_PROTOCOLS)("%s", (protocol) => {
  const cases = wireCases(protocol).map((wire) => [wire.name, wire.title, wire] as const);
  test.each(cases)("%s: %s", async (_name, _title, wire) => {
    for (const cut of CUTS) {
      const outcome = await run(wire, cut);
      expect(problemsOf(wire, outcome), `cut: ${cut}`).toEqual([]);
    }
  });
});

test("every row of the written lists has a fixture", () => {
  const rows = WIRE_PROTOCOLS.flatMap((protocol) => wireCases(protocol)).map((wire) => wire.row ?? "");
  const wanted = [
    ...Array.from({ length: 20 }, (_unused, index) => `2.1 chat ${index + 1}`),
    ...Array.from({ length: 14 }, (_unused, index) => `2.1 messages ${index + 1}`),
    ...Array.from({ length: 4 }, (_unused, index) => `2.1 responses ${index + 1}`),
  ];
  expect(wanted.filter((row) => !rows.some((have) => have.split("; ").includes(row)))).toEqual([]);
});

async function run(wire: WireCase, cut: WireCut): Promise<WireOutcome> {
  const caller = new AbortController();
  const server = wireServer(wire, cut, () => caller.abort());
  const clock = new HurriedClock();
  const events: StreamEvent[] = [];
  const providers = createProviders({ clock, fetch: server.fetch, env: { AWS_REGION: "us-east-1" } });
  const message = await streamWithRetry(
    {
      provider: providers.resolve(wire.protocol),
      config: {
        model: wireModel(wire.protocol, "http://localhost:9"),
        systemPrompt: "Be brief.",
        messages: [{ role: "user", content: [{ type: "text", text: "Hi" }], timestamp: 0 }],
        apiKey: wire.protocol === "bedrock-converse-stream" ? "AKIDEXAMPLE:secret-secret" : "sk-test-1234567890",
        retry: { maxRetries: wire.before === undefined ? 0 : 2 },
      },
      sink: (event) => events.push(event),
      signal: caller.signal,
    },
    { clock, random: () => 0.5 },
  );
  expect(JSON.stringify(message)).not.toContain("sk-test-1234567890");
  return { message, events, requests: server.requests.length, waitedMs: clock.waitedMs };
}

/** The machine's clock, but sleeping takes no time. */
class HurriedClock implements Clock {
  waitedMs = 0;
  now = (): number => systemClock.now();
  monotonic = (): number => systemClock.monotonic();
  after = systemClock.after.bind(systemClock);
  every = systemClock.every.bind(systemClock);
  sleep = (delayMs: number): Promise<void> => {
    this.waitedMs += delayMs;
    return Promise.resolve();
  };
}
