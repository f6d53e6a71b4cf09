/**
 * The part of the script host that lives inside a script's context. It runs before the script and hands the worker a
 * few functions that take and give text; nothing else crosses.
 *
 * An outcome is `+json`, `=` (undefined), `-error`, `?` (no such function), or empty while a promise is pending.
 */

import type { Json, JsonObject } from "@mesh/kernel";

import type { KeyedEntry } from "../memory/memory-namespace.ts";
import { connect, encode, type HostFunction, invokeBytes, runCallback } from "./bridge.ts";
import { contextOf } from "./context.ts";
import { describeThrown } from "./describe.ts";
import { defineGlobals } from "./global.ts";
import { harden } from "./harden.ts";
import { contextSpace, takeSpaceChanges } from "./memory.ts";
import { testOf } from "./test-object.ts";

/** What the worker may call; every function catches everything. */
export interface Guest {
  /** Starts a function of the script, whose exports are given as the script left them. */
  readonly begin: (exports: unknown, fn: string, argsText: string) => string;
  /** The outcome of a promise, once it is settled. */
  readonly settled: () => string;
  readonly callback: (id: number, argsText: string) => string;
  /** The outcome of a script that threw while it was loaded. */
  readonly failed: (thrown: unknown) => string;
  /** Changes of `ctx.memory.context` since the last time, or nothing. */
  readonly takeChanges: () => string;
  readonly loadMemory: (entriesText: string) => void;
}

type WireArgument =
  | { readonly json: Json }
  | { readonly ctx: JsonObject }
  | { readonly test: { readonly name: string } }
  | { readonly absent: true };

// Taken before the script can change them.
const { parse, stringify } = JSON;

let outcome = "";

function begin(exports: unknown, fn: string, argsText: string): string {
  try {
    const found = (exports as Record<string, unknown>)[fn];
    if (typeof found !== "function" || !Object.prototype.hasOwnProperty.call(exports, fn)) return "?";
    const args = (parse(argsText) as readonly WireArgument[]).map(argumentOf);
    return resultOf((found as (...all: readonly unknown[]) => unknown)(...args));
  } catch (error) {
    return `-${describeThrown(error)}`;
  }
}

function argumentOf(argument: WireArgument): unknown {
  if ("ctx" in argument) return contextOf(argument.ctx);
  if ("test" in argument) return testOf(argument.test.name);
  return "json" in argument ? argument.json : undefined;
}

function resultOf(value: unknown): string {
  if (!isThenable(value)) return encode(value);
  // Through a promise of our own, so that a thenable which calls back twice, or throws, settles once.
  void Promise.resolve(value).then(
    (result) => {
      outcome = attempt(() => encode(result));
    },
    (error: unknown) => {
      outcome = `-${describeThrown(error)}`;
    },
  );
  return "";
}

function isThenable(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && typeof (value as { readonly then?: unknown }).then === "function"
  );
}

function attempt(action: () => string): string {
  try {
    return action();
  } catch (error) {
    return `-${describeThrown(error)}`;
  }
}

function takeChanges(): string {
  const changes = takeSpaceChanges();
  return changes === undefined ? "" : stringify(changes);
}

/** The value of this script: given the host function, prepares the context and gives the worker its handles. */
export function boot(host: HostFunction): Guest {
  connect(host);
  harden(invokeBytes);
  defineGlobals();
  return Object.freeze({
    begin,
    settled: () => outcome,
    callback: (id: number, argsText: string) => attempt(() => runCallback(id, argsText)),
    failed: (thrown: unknown) => `-${describeThrown(thrown)}`,
    takeChanges: () => attempt(takeChanges),
    loadMemory: (entriesText: string) => contextSpace().load(parse(entriesText) as readonly KeyedEntry[]),
  });
}
