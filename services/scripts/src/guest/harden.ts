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

/** Longest array the built-in methods work on, and longest text that is taken apart. */
const MAX_LENGTH = 2 ** 24;
const MAX_TEXT = 2 ** 25;
/** Buffers below this are not asked for. */
const FREE_BYTES = 64 * 1024;
const STACK_FRAMES = 30;

type Method = (this: unknown, ...args: readonly unknown[]) => unknown;

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
  boundArrays();
  boundTexts();
  boundBuffers(askForBytes);
}

const ARRAY_METHODS = (
  "concat copyWithin every fill filter find findIndex findLast findLastIndex flat flatMap forEach includes indexOf join " +
  "lastIndexOf map push reduce reduceRight reverse shift slice some sort splice toLocaleString toReversed toSorted " +
  "toSpliced unshift with"
).split(" ");

function boundArrays(): void {
  for (const name of ARRAY_METHODS) wrap(Array.prototype, name, (target) => checkLength(target));
  wrap(Array, "from", (_target, [source]) => checkLength(source));
}

function boundTexts(): void {
  for (const name of ["split", "match", "matchAll", "replace", "replaceAll", "normalize"]) {
    wrap(String.prototype, name, (target) => {
      if (typeof target === "string" && target.length > MAX_TEXT) {
        throw new RangeError(
          `A text of ${target.length} characters is too long to be taken apart (at most ${MAX_TEXT})`,
        );
      }
    });
  }
}

function checkLength(target: unknown): void {
  const { length } = (target ?? {}) as { readonly length?: unknown };
  if (typeof length === "number" && length > MAX_LENGTH) {
    throw new RangeError(`An array of ${length} elements is larger than a script may use (at most ${MAX_LENGTH})`);
  }
}

/** Runs `check` before a built-in method; the method keeps its name and its length. */
function wrap(holder: object, name: string, check: (target: unknown, args: readonly unknown[]) => void): void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, name);
  if (typeof descriptor?.value !== "function") return;
  const original = descriptor.value as Method;
  const { apply } = Reflect;
  const { [name]: guarded } = {
    [name](this: unknown, ...args: readonly unknown[]): unknown {
      check(this, args);
      return apply(original, this, args);
    },
  };
  Object.defineProperty(guarded, "length", { value: original.length, configurable: true });
  Object.defineProperty(holder, name, { ...descriptor, value: guarded });
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
const BUFFER_COPIES = ["slice", "map", "filter", "toSorted", "toReversed", "with"] as const;

function boundBuffers(askForBytes: AskForBytes): void {
  const ask = (bytes: number): void => {
    if (bytes > FREE_BYTES) askForBytes(bytes);
  };
  const sizeOf = (target: unknown): void => ask(Number((target as { readonly byteLength?: unknown }).byteLength ?? 0));
  guardConstructor("ArrayBuffer", ([length, options]) => {
    const { maxByteLength } = (options ?? {}) as { readonly maxByteLength?: unknown };
    ask(Math.max(Number(length), Number(maxByteLength ?? 0)));
  });
  wrap(ArrayBuffer.prototype, "slice", sizeOf);
  const typed = Object.getPrototypeOf(Uint8Array) as { readonly prototype: object };
  for (const name of BUFFER_COPIES) wrap(typed.prototype, name, sizeOf);
  for (const view of VIEWS) {
    guardConstructor(view.name, ([source]) => {
      const { length } = (typeof source === "object" && source !== null ? source : { length: source }) as {
        length?: unknown;
      };
      // A view of a buffer has no `length` to copy; its bytes are there already.
      ask(Number(length ?? 0) * view.BYTES_PER_ELEMENT);
    });
  }
}

/** Replaces a global constructor by one that checks first; `instanceof`, statics and species go on working. */
function guardConstructor(name: string, check: (args: readonly unknown[]) => void): void {
  const original = (globalThis as unknown as Record<string, new (...args: readonly unknown[]) => object>)[name];
  if (original === undefined) return;
  const guarded = new Proxy(original, {
    construct(target, args: readonly unknown[], newTarget) {
      check(args);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });
  Object.defineProperty(globalThis, name, { value: guarded, writable: true, configurable: true });
  Object.defineProperty(original.prototype, "constructor", { value: guarded, writable: true, configurable: true });
}
