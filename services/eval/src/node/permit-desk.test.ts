import { setMaxListeners } from "node:events";

import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { ProviderError, ProviderRegistry, type StreamConfig, type StreamProvider } from "@mesh/llm";
import { beforeEach, expect, test } from "vitest";

import { gatedProviders, type ModelGate } from "../run/model-gate.ts";
import { type PermitAnswer, PermitDesk, type PermitQuestion } from "./permit-desk.ts";

const NEVER = new AbortController().signal;
setMaxListeners(0, NEVER);
const FINE: PermitAnswer = { granted: 1, waitMs: 0 };

let clock: FakeClock;
let desk: PermitDesk;
let asked: PermitQuestion[];
let answer: (question: PermitQuestion) => PermitAnswer | Promise<PermitAnswer>;

beforeEach(() => {
  clock = new FakeClock();
  desk = new PermitDesk(clock);
  asked = [];
  answer = () => FINE;
});

function gate(isRated: boolean, signal = NEVER): ModelGate {
  return desk.gateOf({
    isRated,
    signal,
    ask: async (question) => {
      asked.push(question);
      return await answer(question);
    },
  });
}

/** Lets some calls in; gives how many are through. */
function enter(through: ModelGate, count: number, signal = NEVER): { count: number; failures: unknown[] } {
  const state: { count: number; failures: unknown[] } = { count: 0, failures: [] };
  for (let i = 0; i < count; i += 1) {
    through.enter("host", signal).then(
      () => (state.count += 1),
      (error: unknown) => state.failures.push(error),
    );
  }
  return state;
}

test("without a rate a provider is asked about once a second, for all batches and however many calls there are", async () => {
  const [one, other] = [gate(false), gate(false)];
  const [first, second] = [enter(one, 500), enter(other, 500)];
  await clock.advance(0);
  expect([first.count, second.count, asked.length]).toEqual([500, 500, 1]);
  await clock.advance(900);
  await one.enter("host", NEVER);
  expect(asked).toHaveLength(1);
  await clock.advance(200);
  await other.enter("host", NEVER);
  await other.enter("elsewhere", NEVER);
  expect(asked.map(({ provider }) => provider)).toEqual(["host", "host", "elsewhere"]);
});

test("a pause that another device has asked for holds here until it is over", async () => {
  let isPaused = true;
  answer = () => (isPaused ? { granted: 0, waitMs: 3_000 } : FINE);
  const calls = enter(gate(false), 3);
  await clock.advance(0);
  await clock.advance(2_900);
  expect([calls.count, asked.length]).toEqual([0, 1]);
  isPaused = false;
  await clock.advance(200);
  expect([calls.count, asked.length]).toEqual([3, 2]);
});

test("without a rate a device that cannot ask goes on; with one it does not", async () => {
  answer = () => Promise.reject(new MeshError("unavailable", "nobody there"));
  const free = enter(gate(false), 2);
  const rated = enter(gate(true), 2);
  await clock.advance(0);
  expect(free.count).toBe(2);
  expect(rated.count).toBe(0);
  expect(rated.failures).toEqual(Array(2).fill(expect.objectContaining({ code: "unavailable" })));
});

test("with a rate every call has a permit of its own, and calls that wait are asked for together", async () => {
  const grants = [1, 0, 2, 10];
  answer = () => ({ granted: grants.shift() ?? 0, waitMs: 500 });
  const calls = enter(gate(true), 8);
  await clock.advance(0);
  expect(calls.count).toBe(1);
  expect(asked.map((question) => question.calls)).toEqual([1, 7]);
  await clock.advance(499);
  expect(calls.count).toBe(1);
  await clock.advance(1);
  expect(calls.count).toBe(8);
  expect(asked.map((question) => question.calls)).toEqual([1, 7, 7, 5]);
});

test("a call that is stopped waits no more, and what was granted for it serves the next one", async () => {
  let grant: (permit: PermitAnswer) => void = () => undefined;
  answer = () => new Promise((resolve) => (grant = resolve));
  const own = new AbortController();
  const through = gate(true);
  const stopped = enter(through, 1, own.signal);
  await clock.advance(0);
  own.abort();
  await clock.advance(0);
  expect(stopped.failures).toHaveLength(1);
  grant(FINE);
  await clock.advance(0);
  await through.enter("host", NEVER);
  expect(asked).toHaveLength(1);
});

test("a batch that is over asks no more, and its calls end", async () => {
  answer = () => ({ granted: 0, waitMs: 100 });
  const batch = new AbortController();
  const calls = enter(gate(true, batch.signal), 2);
  await clock.advance(250);
  const before = asked.length;
  batch.abort(new MeshError("cancelled", "over"));
  await clock.advance(1_000);
  expect(calls.failures).toHaveLength(2);
  expect(asked).toHaveLength(before);
});

const CONFIG: StreamConfig = {
  model: {
    id: "m",
    name: "m",
    api: "openai-completions",
    provider: "openai",
    baseUrl: "https://models.example:8443/v1",
    reasoning: false,
    contextWindow: 1,
    maxTokens: 1,
    cost: null,
  },
  systemPrompt: "",
  messages: [],
};

function failing(fault: Error): ProviderRegistry {
  const provider: StreamProvider = { protocol: "openai-completions", stream: () => Promise.reject(fault) };
  return gatedProviders(new ProviderRegistry([provider]), gate(false));
}

test("who is told to slow down tells it once, and calls nobody meanwhile", async () => {
  const limited = new ProviderError({ errorClass: "rateLimit", message: "slow", status: 429, retryAfterMs: 4_000 });
  const providers = failing(limited);
  await expect(providers.stream(CONFIG, () => undefined, NEVER)).rejects.toBe(limited);
  expect(asked).toEqual([
    { provider: "models.example:8443", calls: 1, slowDownMs: 0 },
    { provider: "models.example:8443", calls: 0, slowDownMs: 4_000 },
  ]);
  const next = providers.stream(CONFIG, () => undefined, NEVER);
  next.catch(() => undefined);
  await clock.advance(3_900);
  expect(asked).toHaveLength(2);
  await clock.advance(200);
  await expect(next).rejects.toBe(limited);
});

test.each([
  ["a 429 without a time", new ProviderError({ errorClass: "rateLimit", message: "x", status: 429 }), [1_000]],
  ["a failure of a server", new ProviderError({ errorClass: "server", message: "x", retryAfterMs: 5 }), []],
  ["a limit of this machine", new ProviderError({ errorClass: "rateLimit", message: "x" }), []],
])("what is told of %s", async (_name, error, told) => {
  await expect(failing(error).stream(CONFIG, () => undefined, NEVER)).rejects.toBe(error);
  expect(asked.flatMap(({ slowDownMs }) => (slowDownMs > 0 ? [slowDownMs] : []))).toEqual(told);
});

test("a call that was not permitted fails as what is outside of its case, and is not tried again in vain", async () => {
  answer = () => Promise.reject(new MeshError("unavailable", "nobody there"));
  const provider: StreamProvider = {
    protocol: "openai-completions",
    stream: () => Promise.reject(new Error("called")),
  };
  const providers = gatedProviders(new ProviderRegistry([provider]), gate(true));
  await expect(providers.stream(CONFIG, () => undefined, NEVER)).rejects.toMatchObject({
    code: "unavailable",
    retryable: false,
  });
});
