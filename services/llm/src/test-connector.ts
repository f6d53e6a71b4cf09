/** `yao connector test`: one tiny call that says what works, or what failed and how to fix it. */

import type { Clock } from "@mesh/kernel";

import { type AssistantMessage, textContent, textOf } from "./message.ts";
import type { ConnectorModel } from "./connector-model.ts";
import type { ProviderRegistry } from "./provider.ts";
import { type ErrorClass, ProviderError } from "./provider-error.ts";

/** What a test of a connector found. */
export interface ConnectorTest {
  readonly ok: boolean;
  /** One line for a person. */
  readonly summary: string;
  /** What to do about a failure. */
  readonly fix?: string;
  readonly errorClass?: ErrorClass;
  /** From the request to the whole answer. */
  readonly durationMs: number;
  /** What the model said, cut. */
  readonly said?: string;
}

/** What the test needs from outside. */
export interface ConnectorTestDeps {
  readonly clock: Clock;
  readonly providers: ProviderRegistry;
}

const FIXES: Readonly<Record<ErrorClass, string>> = {
  auth: "set a valid key for this connector, and check that it may use this model",
  quota: "add credit to the account, or use another key",
  rateLimit: "wait a minute and test again, or use another key",
  network: "check the connector's host, your network and any proxy; is the server running?",
  timeout: "the server is too slow or not reachable; check its host, or raise timeouts.first_byte",
  notFound: "check the connector's model and host: one of them does not exist there",
  overflow: "the server takes hardly any tokens; check its context size",
  invalidRequest: "the server does not like the request; check the connector's type and its options",
  server: "the server has a problem of its own; test again later",
  protocol: "the host does not speak this protocol; check the connector's type and host",
  refusal: "the model refused a harmless question; check the account's content filters",
  aborted: "the test was cancelled",
  config: "fix the connector's settings as said",
};

/** Makes the call; never throws. */
export async function testConnector(
  connector: ConnectorModel,
  deps: ConnectorTestDeps,
  signal: AbortSignal,
): Promise<ConnectorTest> {
  const startedAt = deps.clock.monotonic();
  const took = (): number => Math.round(deps.clock.monotonic() - startedAt);
  const { model } = connector;
  try {
    const message = await deps.providers.stream(
      {
        ...connector.defaults,
        model,
        systemPrompt: "",
        messages: [{ role: "user", content: [textContent("Answer with the word ok.")], timestamp: deps.clock.now() }],
        // Enough for a reasoning model to think and still answer.
        maxTokens: model.reasoning ? 2048 : 32,
        timeouts: { firstByteMs: 30_000, attemptMs: 60_000, ...connector.defaults.timeouts },
      },
      () => undefined,
      signal,
    );
    return answered(message, connector, took());
  } catch (thrown) {
    const error = thrown instanceof ProviderError ? thrown : undefined;
    const errorClass = error?.errorClass ?? "config";
    const summary = thrown instanceof Error ? thrown.message : String(thrown);
    return { ok: false, summary, fix: FIXES[errorClass], errorClass, durationMs: took() };
  }
}

function answered(message: AssistantMessage, connector: ConnectorModel, durationMs: number): ConnectorTest {
  if (message.stopReason === "refusal") {
    const summary = `${message.model} refused: ${message.errorMessage ?? "no reason given"}`;
    return { ok: false, summary, fix: FIXES.refusal, errorClass: "refusal", durationMs };
  }
  const said = textOf(message.content).replaceAll(/\s+/g, " ").trim().slice(0, 80);
  const { connector: id, provider } = connector.model;
  const name = id === undefined ? provider : `connector ${id}`;
  const what = said === "" ? "answered" : `answered "${said}"`;
  return {
    ok: true,
    summary: `${name}: ${message.model} ${what} in ${durationMs} ms`,
    durationMs,
    ...(said === "" ? {} : { said }),
  };
}
