/**
 * Patterns of assertions: RE2 syntax and RE2 semantics, whatever the text, in time that grows with the text and not faster.
 */

import { MeshError } from "@mesh/kernel";
import { RE2JS } from "re2js";

import { safePattern } from "./safe-pattern.ts";

/** A compiled pattern. */
export interface Pattern {
  /** Whether it is found anywhere in a text. */
  test(text: string): boolean;
}

const MAX_PATTERN_CHARS = 10_000;
const MAX_KEPT = 1_000;
// Up to this length even the square of it is nothing.
const SHORT_TEXT_CHARS = 4_096;

// Patterns are compiled when cases are loaded and again when they are used; equal texts are one pattern.
const compiled = new Map<string, Pattern>();

/** Compiles a pattern; throws `invalid_argument` with RE2's own words. */
export function compilePattern(pattern: string): Pattern {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  if (compiled.size >= MAX_KEPT) compiled.clear();
  const made = compile(pattern);
  compiled.set(pattern, made);
  return made;
}

function compile(pattern: string): Pattern {
  if (pattern.length > MAX_PATTERN_CHARS) {
    throw new MeshError(
      "invalid_argument",
      `the pattern has ${pattern.length} characters; ${MAX_PATTERN_CHARS} are the most`,
    );
  }
  const safe = safePattern(pattern);
  if (safe !== undefined && !safe.repeats) return safe.regex;
  const exact = re2(pattern);
  if (safe === undefined) return { test: (text) => exact.matcher(text).find() };
  return { test: (text) => (text.length <= SHORT_TEXT_CHARS ? safe.regex.test(text) : exact.matcher(text).find()) };
}

function re2(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : String(error);
    const advice = hintOf(pattern);
    throw new MeshError("invalid_argument", `the pattern ${quoted(pattern)} is not RE2 (Go) syntax: ${said}${advice}`, {
      cause: error,
    });
  }
}

function hintOf(pattern: string): string {
  if (/\(\?<?[=!]/.test(pattern)) return "; look-around is not supported: use negate, or two assertions";
  if (/\\[1-9]/.test(pattern)) return "; back references are not supported";
  if (/\\u[0-9a-f]{4}/i.test(pattern)) return "; write \\x{0041} for a character by number";
  return "";
}

function quoted(pattern: string): string {
  return JSON.stringify(pattern.length <= 100 ? pattern : `${pattern.slice(0, 100)}…`);
}
