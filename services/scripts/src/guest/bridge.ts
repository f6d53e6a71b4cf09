/**
 * The one way out of a script's context: a private host function that takes and gives text.
 *
 * G1  Whatever the host function throws stays here: an error of the host's realm never reaches the script.
 * G2  Errors of operations are made here anew, with message and code.
 * G3  Functions handed to an operation have a number for as long as it is pending.
 */

import type { Json } from "@mesh/kernel";

import type { OpArgs, OpName, OpResult } from "../op.ts";
import { Exception } from "./exception.ts";

/** The host function: operation and arguments in, `+json`, `=` (nothing) or `-error` out. */
export type HostFunction = (op: string, args: string) => string;

type Callback = (...args: readonly Json[]) => unknown;

const { parse, stringify } = JSON;
const isPromise = (value: unknown): boolean => typeof value === "object" && value !== null && "then" in value;

let host: HostFunction | undefined;
let nextCallback = 1;
const callbacks = new Map<number, Callback>();

/** Sets the host function, once, before any script code runs. */
export function connect(to: HostFunction): void {
  host = to;
}

/** Asks the host for an operation and waits for its result. */
export function invoke<Name extends OpName>(op: Name, ...args: OpArgs<Name>): OpResult<Name> {
  return invokeNamed(op, args) as OpResult<Name>;
}

/** {@link invoke} for an operation that is known by name only; the host checks its arguments. */
export function invokeNamed(op: OpName, args: readonly unknown[]): Json | undefined {
  return parseAnswer(ask(op, stringify(args)));
}

/** Sleeps in the worker; no operation of the host's. */
export function sleep(ms: number): void {
  parseAnswer(ask("time.Sleep", String(ms)));
}

/** Asks for memory outside of the heap; the worker knows how much there is. */
export function invokeBytes(bytes: number): void {
  parseAnswer(ask("memory.Bytes", String(bytes)));
}

/** Runs `operation` with the number of `callback` (null when there is none), which is valid while it is pending. */
export function withCallback<Result>(callback: Callback | undefined, operation: (id: number | null) => Result): Result {
  if (callback === undefined) return operation(null);
  const id = nextCallback;
  nextCallback += 1;
  callbacks.set(id, callback);
  try {
    return operation(id);
  } finally {
    callbacks.delete(id);
  }
}

/** Runs a function of the script for a pending operation; called by the host. */
export function runCallback(id: number, argsText: string): string {
  const callback = callbacks.get(id);
  // The operation is over: a late chunk is for nobody.
  if (callback === undefined) return "=";
  const value = callback(...(parse(argsText) as readonly Json[]));
  // Its reactions cannot run before the blocked code goes on, so there is no result to wait for.
  return isPromise(value) ? "=" : encode(value);
}

/** A result as text: `+json`, or `=` for undefined. */
export function encode(value: unknown): string {
  const text = stringify(value) as string | undefined;
  return text === undefined ? "=" : `+${text}`;
}

function ask(op: string, args: string): string {
  let answer: unknown;
  try {
    answer = host?.(op, args);
  } catch {
    // G1: what was caught belongs to the host's realm and is dropped here.
    answer = undefined;
  }
  if (typeof answer === "string") return answer;
  throw new RangeError(`The script is too deep in calls to do ${op}`);
}

function parseAnswer(answer: string): Json | undefined {
  if (answer === "=") return undefined;
  const value = parse(answer.slice(1)) as Json;
  if (answer.startsWith("+")) return value;
  const { message, code } = value as { readonly message: string; readonly code: string };
  throw new Exception(message, code);
}
