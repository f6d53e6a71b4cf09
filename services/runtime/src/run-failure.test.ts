import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { ProviderError, ProviderRegistry } from "@mesh/llm";
import { describe, expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { runAssistant } from "./run-assistant.ts";
import type { RunInput } from "./run-input.ts";
import { bareInput, failure, last, scripted, shape, start } from "./testing/assistant-run.ts";

describe("a run that fails", () => {
  test("ends what it was saying, says why, and throws it", async () => {
    const error = { errorClass: "server", message: "connector x: the server failed", retryable: false } as const;
    const run = start({}, scripted({ text: "half", error }));
    const thrown = await failure(run);
    expect(thrown).toBeInstanceOf(ProviderError);
    expect(thrown).toMatchObject({ code: "unavailable", message: error.message });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      'text {"content":"half"}',
      "message_end",
      'error {"message":"connector x: the server failed","code":"unavailable"}',
      "stream_end",
    ]);
    expect(run.messages.at(3)?.props["data"]).toMatchObject({ status: "error", extra: { content: "half" } });
    expect(last(run.messages)).toMatchObject({ status: "error", error: "connector x: the server failed" });
  });

  test.each<[string, Partial<RunInput>, string, string]>([
    [
      "its assistant is unknown",
      { assistantId: "nobody" },
      "not_found",
      'there is no assistant "nobody"; the app has bare, far, handy, hello, shy',
    ],
    [
      "its input is empty",
      { input: " \n" },
      "invalid_argument",
      "the input is empty; say what the assistant should do",
    ],
    [
      "its connector's protocol is not known",
      { assistantId: "far" },
      "unimplemented",
      "connector far: type sparkle is not supported; use a protocol (openai, responses, anthropic",
    ],
    [
      "its preset does not exist",
      { metadata: { __prompt_preset: "toString" } },
      "not_found",
      'no prompt preset "toString"',
    ],
    ["its connector does not exist", { options: { connector: "none" } }, "not_found", '"none" does not exist'],
    [
      "its connector's variable is not set",
      { assistantId: "far", env: () => undefined },
      "failed_precondition",
      "$ENV.FAR_KEY",
    ],
  ])("because %s still has a whole stream", async (_why, patch, code, message) => {
    const run = start(patch);
    const error = await failure(run);
    expect(error.code).toBe(code);
    expect(error.message).toContain(message);
    expect(run.messages.map((one) => one.props["event"] ?? one.type)).toEqual(["stream_start", "error", "stream_end"]);
  });

  test("in an attempt that is repeated keeps what was said as an error, and ends with the repeated answer only", async () => {
    const error = { errorClass: "server", message: "oops" } as const;
    const run = start({}, scripted({ text: "half", error }, { text: "whole" }), { random: () => 0.5 });
    await run.clock.advance(0);
    await run.clock.advance(1_000);
    expect((await run.done).output).toBe("whole");
    const ends = run.messages.filter((message) => message.props["event"] === "message_end");
    expect(ends.map((end) => end.props["data"])).toMatchObject([
      { message_id: "M1", status: "error", extra: { content: "half" } },
      { message_id: "M2", status: "completed", extra: { content: "whole" } },
    ]);
  });

  test("from a fault of ours shows the run's id and not the fault", async () => {
    const fault = new TypeError("secret path /root/x");
    const provider = scripted({ text: "x", throws: fault }, { throws: fault }, { throws: fault }, { throws: fault });
    const run = start({}, provider);
    for (let i = 0; i < 10; i += 1) await run.clock.advance(5_000);
    expect((await failure(run)).message).toContain("run_1");
    expect(JSON.stringify(run.messages)).not.toContain("secret path");
  });
});

describe("a run that is cancelled", () => {
  test("ends what it was saying as partial and throws cancelled, without an error message", async () => {
    const run = start({ input: "/slow 1h" });
    // The model is loaded at its first use.
    await until(() => shape(run.messages).includes("message_start"), { what: "the first word" });
    await run.clock.advance(150);
    run.abort.abort();
    expect(await failure(run)).toMatchObject({ code: "cancelled", message: "the run was cancelled" });
    expect(shape(run.messages)).toEqual([
      "stream_start",
      "message_start",
      'text {"content":"."}',
      'text {"content":"."}',
      "message_end",
      "stream_end",
    ]);
    expect(run.messages.at(-2)?.props["data"]).toMatchObject({ status: "partial", extra: { content: ".." } });
    expect(last(run.messages)).toMatchObject({ status: "cancelled", duration_ms: 150 });
  });

  test("before it began calls no model", async () => {
    const abort = AbortSignal.abort();
    const messages: OutputMessage[] = [];
    const provider = scripted();
    const ports = { clock: new FakeClock(), providers: new ProviderRegistry([provider]) };
    const done = runAssistant(bareInput, ports, (one) => void messages.push(one), abort);
    await expect(done).rejects.toMatchObject({ code: "cancelled" });
    expect(last(messages)).toMatchObject({ status: "cancelled" });
    expect(provider.requests).toEqual([]);
  });
});
