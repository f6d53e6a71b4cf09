/** The namespace `testing`: what functions of `*_test.ts` files get. */

import type { Value, Values } from "./value.ts";

/**
 * The first argument of a test.
 *
 * @example
 * export function TestSum(t: testing.T, ctx: agent.Context) {
 *   t.assert.Equal(1 + 1, 2, "numbers add up");
 * }
 */
export interface T {
  readonly name: string;
  /** Whether something failed so far. */
  readonly failed: boolean;
  readonly assert: Assert;
  /** Notes a line for the report. */
  log(...values: Value[]): void;
  /** Marks the test as failed and goes on. */
  error(...values: Value[]): void;
  /** Marks the test as skipped and goes on. */
  skip(reason?: string): void;
  /** Marks the test as failed and goes on. */
  fail(reason?: string): void;
  /** Marks the test as failed and ends it. */
  fatal(reason?: string): void;
}

/** How an assistant judges an answer. */
export interface AgentAssertion {
  criteria: string;
  metadata?: Values;
  connector?: string;
}

/**
 * Claims. One that does not hold marks the test as failed; the test goes on. `message` says what was meant.
 *
 * @example
 * export function TestGreeting(t: testing.T) {
 *   t.assert.Contains("Hello, Ann", "Ann", "greets by name");
 * }
 */
export interface Assert {
  True(value: Value, message?: string): boolean;
  False(value: Value, message?: string): boolean;
  /** Equal as JSON, whatever the order of keys. */
  Equal(actual: Value, expected: Value, message?: string): boolean;
  NotEqual(actual: Value, expected: Value, message?: string): boolean;
  /** Null or undefined. */
  Nil(value: Value, message?: string): boolean;
  NotNil(value: Value, message?: string): boolean;
  Contains(text: Value, part: Value, message?: string): boolean;
  NotContains(text: Value, part: Value, message?: string): boolean;
  /** Of a list, a text or an object. */
  Len(value: Value, length: number, message?: string): boolean;
  Greater(actual: number, than: number, message?: string): boolean;
  GreaterOrEqual(actual: number, than: number, message?: string): boolean;
  Less(actual: number, than: number, message?: string): boolean;
  LessOrEqual(actual: number, than: number, message?: string): boolean;
  /** Whether the value is an error, with this text if given. */
  Error(value: Value, message?: string): boolean;
  NoError(value: Value, message?: string): boolean;
  /** Whether the function throws. */
  Panic(run: () => void, message?: string): boolean;
  NoPanic(run: () => void, message?: string): boolean;
  /** Against a regular expression. */
  Match(text: string, pattern: string | RegExp, message?: string): boolean;
  NotMatch(text: string, pattern: string | RegExp, message?: string): boolean;
  /** `string`, `number`, `boolean`, `array`, `object`, `function`, `null` or `undefined`. */
  Type(value: Value, type: string, message?: string): boolean;
  /** A value found by path. */
  JSONPath(value: Value, path: string, expected: Value, message?: string): boolean;
  /**
   * Asks an assistant whether an answer is what it should be.
   * @example
   * export function TestTone(t: testing.T) {
   *   t.assert.Agent("How may I help?", "tests.validator-agent", { criteria: "is polite" });
   * }
   */
  Agent(response: Value, agent: string, options: AgentAssertion): boolean;
}

/** A case of an eval, as hooks around it get it. */
export interface TestCase {
  id: string;
  /** Text, a message, or a list of messages. */
  input: Value;
  assert?: Value;
  expected?: Value;
  user?: string;
  team?: string;
  metadata?: Values;
  options?: Values;
  timeout?: string;
  skip?: boolean;
  before?: string;
  after?: string;
}

/** How a case went, as the hook after it gets it. */
export interface TestResult {
  id: string;
  status: "passed" | "failed" | "error" | "skipped" | "timeout";
  input: Value;
  /** Undefined when the case did not get that far. */
  output: Value;
  expected?: Value;
  error?: string;
  duration_ms: number;
  assertions?: Values[];
}
