/**
 * Prepares a fresh context for a script: what must not be there goes, what could not be stopped or measured is bounded.
 *
 * H1  Nothing that shares memory, compiles code, runs after the call, or sees the host's stack frames.
 * H2  Native loops over absurd lengths are refused: they cannot be interrupted, not even by ending the thread. So are
 *     arrays close to the largest V8 can make: one step further it ends the process.
 * H3  Memory outside of the heap (buffers) is asked for first, since no heap limit counts it.
 *
 * These are guards against mistakes and casual attacks. The last resort stands outside: see `ScriptHost.onStuck`.
 */

import { boundArrayMethods, boundBufferMethods, boundTextMethods } from "./bounded-method.ts";

/** Longest array the built-in methods work on, and longest text that is taken apart. */
const MAX_LENGTH = 2 ** 24;
const MAX_TEXT = 2 ** 25;
/** Buffers below this are not asked for. */
const FREE_BYTES = 64 * 1024;
const STACK_FRAMES = 30;

const { apply, construct, set } = Reflect;

type Method = (this: unknown, ...args: never[]) => unknown;

/** Asks for memory outside of the heap; throws when there is none left. */
export type AskForBytes = (bytes: number) => void;

/** Changes the context's intrinsics, once, before script code runs. */
export function harden(askForBytes: AskForBytes): void {
  for (const name of ["SharedArrayBuffer", "Atomics", "WebAssembly", "FinalizationRegistry", "gc"]) {
    // `gc` is declared by V8 itself and can only be emptied.
    if (!Reflect.deleteProperty(globalThis, name)) Reflect.set(globalThis, name, undefined);
  }
  Error.stackTraceLimit = STACK_FRAMES;
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined, writable: false, configurable: false });
  boundArrayMethods(checkLength);
  boundArrayFrom();
  boundTextMethods(checkText);
  boundBuffers(askForBytes);
}

function checkLength(target: unknown): void {
  const { length } = (target ?? {}) as { readonly length?: unknown };
  if (typeof length === "number" && length > MAX_LENGTH) {
    throw new RangeError(`An array of ${length} elements is larger than a script may use (at most ${MAX_LENGTH})`);
  }
}

function checkText(target: unknown): void {
  if (typeof target === "string" && target.length > MAX_TEXT) {
    throw new RangeError(`A text of ${target.length} characters is too long to be taken apart (at most ${MAX_TEXT})`);
  }
}

const VIEWS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const;

/** The two that are alone in their class; like the others they are assigned, which leaves what they are as it was. */
function boundArrayFrom(): void {
  const { from } = Array as unknown as Record<"from", Method>;
  const bounded = {
    from(this: unknown, source: unknown): unknown {
      checkLength(source);
      return apply(from, this, arguments);
    },
  };
  Object.assign(Array, bounded);
}

function boundBufferSlice(check: (target: unknown) => void): void {
  const { slice } = ArrayBuffer.prototype as unknown as Record<"slice", Method>;
  const bounded = {
    slice(this: unknown, _start: unknown, _end: unknown): unknown {
      check(this);
      return apply(slice, this, arguments);
    },
  };
  Object.assign(ArrayBuffer.prototype, bounded);
}

type Constructor = new (...args: readonly unknown[]) => object;

function boundBuffers(askForBytes: AskForBytes): void {
  const ask = (bytes: number): void => {
    if (bytes > FREE_BYTES) askForBytes(bytes);
  };
  const sizeOf = (target: unknown): void => ask(Number((target as { readonly byteLength?: unknown }).byteLength ?? 0));
  boundBufferSlice(sizeOf);
  boundBufferMethods(sizeOf);
  const { ArrayBuffer: buffer } = globalThis;
  const checking = {
    construct(target: Constructor, args: readonly unknown[], newTarget: Constructor): object {
      ask(target === (buffer as unknown) ? bytesOfBuffer(args) : bytesOfView(target, args));
      return construct<readonly unknown[], object>(target, args, newTarget);
    },
  };
  for (const original of [buffer, ...VIEWS] as readonly (Constructor & { readonly name: string })[]) {
    guardConstructor(original, checking);
  }
}

function bytesOfBuffer([length, options]: readonly unknown[]): number {
  const { maxByteLength } = (options ?? {}) as { readonly maxByteLength?: unknown };
  return Math.max(Number(length), Number(maxByteLength ?? 0));
}

function bytesOfView(view: unknown, [source]: readonly unknown[]): number {
  const { length } = (typeof source === "object" && source !== null ? source : { length: source }) as {
    length?: unknown;
  };
  // A view of a buffer has no `length` to copy; its bytes are there already.
  return Number(length ?? 0) * (view as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
}

/** Replaces a global constructor by one that checks first; `instanceof`, statics and species go on working. */
function guardConstructor(original: Constructor, checking: ProxyHandler<Constructor>): void {
  const guarded = new Proxy(original, checking);
  set(globalThis, original.name, guarded);
  set(original.prototype as object, "constructor", guarded);
}
