/**
 * `t`: what a test function is handed.
 *
 * T1  A claim that does not hold is recorded and the test goes on; only `fatal` ends it.
 * T2  What was recorded is with the host at once: a test that is stopped loses nothing.
 */

import type { Json, JsonObject } from "@mesh/kernel";

import { api, jsonOf, recordOf, textOf } from "./api.ts";
import { invoke } from "./bridge.ts";
import { describeThrown } from "./describe.ts";

type Members = Record<string, unknown>;

/** Notes how a claim went; gives whether it holds. */
type Claim = (type: string, holds: boolean, details: Details) => boolean;

interface Details {
  readonly actual?: unknown;
  readonly expected?: unknown;
  readonly message: unknown;
  /** What is wrong, where expected and actual do not say it. */
  readonly reason?: string;
}

const MAX_SHOWN = 2_000;

/** The `t` of a test. */
export function testOf(name: string): Members {
  let failed = false;
  let hasHeld = false;
  const fail = (details: JsonObject): void => {
    failed = true;
    invoke("test.Record", "failed", details);
  };
  const claim: Claim = (type, holds, { actual, expected, message, reason }) => {
    if (!holds) {
      const said = message === undefined || message === null ? {} : { message: shown(message) };
      const why = reason === undefined ? {} : { reason };
      fail({ type, actual: plain(actual), expected: plain(expected), ...said, ...why });
    } else if (!hasHeld) {
      hasHeld = true;
      invoke("test.Record", "held", null);
    }
    return holds;
  };
  const test: Members = api("t", {
    name,
    assert: api("t.assert", { ...values(claim), ...numbers(claim), ...throwing(claim), ...found(claim) }),
    log: (...parts: readonly unknown[]) => void invoke("test.Record", "log", line(parts)),
    error: (...parts: readonly unknown[]) => fail({ type: "error", message: line(parts) }),
    fail: (reason?: unknown) => fail({ type: "fail", message: shown(reason ?? "the test failed itself") }),
    skip: (reason?: unknown) => void invoke("test.Record", "skip", shown(reason ?? "")),
    fatal: (reason?: unknown) => {
      const message = shown(reason ?? "the test failed itself");
      fail({ type: "fatal", message });
      throw new Error(message);
    },
  });
  return Object.defineProperty(test, "failed", { get: () => failed, enumerable: true });
}

function values(claim: Claim): Members {
  const equal = (type: string, wanted: boolean) => (actual: unknown, expected: unknown, message?: unknown) =>
    claim(type, same(plain(actual), plain(expected)) === wanted, { actual, expected, message });
  const nil = (type: string, wanted: boolean) => (actual: unknown, message?: unknown) =>
    claim(type, (actual === undefined || actual === null) === wanted, { actual, message });
  const contains = (type: string, wanted: boolean) => (actual: unknown, expected: unknown, message?: unknown) =>
    claim(type, includes(actual, expected) === wanted, { actual, expected, message });
  return {
    True: (actual: unknown, message?: unknown) => claim("True", actual === true, { actual, expected: true, message }),
    False: (actual: unknown, message?: unknown) =>
      claim("False", actual === false, { actual, expected: false, message }),
    Equal: equal("Equal", true),
    NotEqual: equal("NotEqual", false),
    Nil: nil("Nil", true),
    NotNil: nil("NotNil", false),
    Contains: contains("Contains", true),
    NotContains: contains("NotContains", false),
    Len: (actual: unknown, length: unknown, message?: unknown) => {
      const has = lengthOf(actual);
      return claim("Len", has === length, { actual: has, expected: length, message });
    },
    Type: (actual: unknown, type: unknown, message?: unknown) =>
      claim("Type", typeOf(actual) === type, { actual: typeOf(actual), expected: type, message }),
  };
}

function numbers(claim: Claim): Members {
  const compare =
    (type: string, holds: (a: number, b: number) => boolean) =>
    (actual: unknown, expected: unknown, message?: unknown): boolean =>
      claim(type, typeof actual === "number" && typeof expected === "number" && holds(actual, expected), {
        actual,
        expected,
        message,
      });
  return {
    Greater: compare("Greater", (a, b) => a > b),
    GreaterOrEqual: compare("GreaterOrEqual", (a, b) => a >= b),
    Less: compare("Less", (a, b) => a < b),
    LessOrEqual: compare("LessOrEqual", (a, b) => a <= b),
  };
}

function throwing(claim: Claim): Members {
  const panics = (type: string, wanted: boolean) => (run: unknown, message?: unknown) => {
    if (typeof run !== "function") throw new TypeError(`t.assert.${type} needs a function`);
    let thrown: string | undefined;
    try {
      (run as () => unknown)();
    } catch (error) {
      thrown = messageOf(error);
    }
    const reason = thrown === undefined ? "it did not throw" : `it threw: ${thrown}`;
    return claim(type, (thrown !== undefined) === wanted, { message, reason });
  };
  return {
    // Whatever is not nothing counts as an error: functions return `{error}`, texts and exceptions alike.
    Error: (actual: unknown, message?: unknown) =>
      claim("Error", actual !== undefined && actual !== null, { actual, message }),
    NoError: (actual: unknown, message?: unknown) =>
      claim("NoError", actual === undefined || actual === null, { actual, message }),
    Panic: panics("Panic", true),
    NoPanic: panics("NoPanic", false),
  };
}

function found(claim: Claim): Members {
  const match = (type: string, wanted: boolean) => (actual: unknown, pattern: unknown, message?: unknown) => {
    const text = textOf(actual, `t.assert.${type}: the text`);
    const isFound =
      typeof pattern === "string"
        ? invoke("test.Match", text, pattern)
        : RegExp.prototype.test.call(pattern as RegExp, text);
    return claim(type, isFound === wanted, { actual: text, expected: String(pattern), message });
  };
  return {
    Match: match("Match", true),
    NotMatch: match("NotMatch", false),
    JSONPath: (value: unknown, path: unknown, expected: unknown, message?: unknown) => {
      const all = invoke("test.JSONPath", jsonOf(value), textOf(path, "t.assert.JSONPath: the path"));
      const actual = all.length > 1 ? all : (all[0] ?? null);
      return claim("JSONPath", same(actual, plain(expected)), { actual, expected, message });
    },
    Agent: (response: unknown, agent: unknown, options: unknown) => {
      const settings = recordOf(options, "t.assert.Agent: the options");
      const verdict = invoke("test.Agent", jsonOf(response), textOf(agent, "t.assert.Agent: the agent"), settings);
      const expected = settings["criteria"];
      return claim("Agent", verdict.passed, { actual: response, expected, message: undefined, reason: verdict.reason });
    },
  };
}

/** The value as JSON has it; what has no JSON form is described. */
function plain(value: unknown): Json {
  if (value === undefined || value === null) return null;
  if (typeof value === "function") return "[function]";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  try {
    return JSON.parse(JSON.stringify(value)) as Json;
  } catch {
    return shown(value);
  }
}

function same(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((each, index) => same(each as Json, b[index] as Json));
  }
  const [left, right] = [a as JsonObject, b as JsonObject];
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every(
    (key) => Object.prototype.hasOwnProperty.call(right, key) && same(left[key] ?? null, right[key] ?? null),
  );
}

function includes(whole: unknown, part: unknown): boolean {
  if (Array.isArray(whole)) return whole.some((each) => same(plain(each), plain(part)));
  const text = typeof whole === "string" ? whole : (JSON.stringify(whole) ?? "");
  return text.includes(typeof part === "string" ? part : (JSON.stringify(part) ?? "undefined"));
}

function lengthOf(value: unknown): number | null {
  if (typeof value === "string") return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  return typeof value === "object" && value !== null ? Object.keys(value).length : null;
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function messageOf(error: unknown): string {
  try {
    const { message } = JSON.parse(describeThrown(error)) as { readonly message?: unknown };
    return shown(message ?? "");
  } catch {
    return "";
  }
}

function line(parts: readonly unknown[]): string {
  return parts.map(shown).join(" ").slice(0, MAX_SHOWN);
}

function shown(value: unknown): string {
  try {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
    return text.slice(0, MAX_SHOWN);
  } catch {
    return String(value).slice(0, MAX_SHOWN);
  }
}
