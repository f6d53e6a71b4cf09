/**
 * A key-value store that agents share: large artifacts are stored once and passed by name.
 *
 * K1  Bounded in bytes (keys and values). Over the bound only stashed tool output is evicted, oldest first, each logged;
 *     what callers stored is never evicted, they get an error instead and the store stays as it was.
 * K2  A scope sees and touches only its own keys, and no key can reach out of it; the parent sees all.
 */

import type { JsonObject } from "@mesh/kernel";
import { MeshError } from "@mesh/kernel";

import { type Log, silentLog } from "./log.ts";
import { type AgentTool, invalidArguments, textArgument, textOutput, toolNotFound, type ToolOutput } from "./tool.ts";
import { byteLength, type OutputStash, STASH_PREFIX } from "./truncate.ts";

/** Where values live. Keys are opaque here; `keys` is in order of first storing. */
export interface SharedStateBackend {
  get(key: string): Promise<string | undefined>;
  /** Throws `resource_exhausted` when it does not fit. */
  set(key: string, value: string): Promise<void>;
  remove(key: string): Promise<boolean>;
  keys(): Promise<readonly string[]>;
  sizeOf(key: string): Promise<number>;
}

/** Bytes a store holds unless it is told otherwise. */
export const SHARED_STATE_BYTES = 10_000_000;

const SCOPE = "\u001f";

/** Whether a stored key is stashed output, in whatever scope. */
export function isStashKey(key: string): boolean {
  return key.slice(key.lastIndexOf(SCOPE) + 1).startsWith(STASH_PREFIX);
}

/** Which keys to evict so that `needed` bytes fit, oldest first; undefined when evicting all stash is not enough. */
export function evictionsFor(
  entries: Iterable<readonly [key: string, bytes: number]>,
  keep: string,
  needed: number,
  capacity: number,
): readonly string[] | undefined {
  let used = needed;
  const stash: [string, number][] = [];
  for (const [key, bytes] of entries) {
    if (key === keep) continue;
    used += bytes;
    if (isStashKey(key)) stash.push([key, bytes]);
  }
  const evicted: string[] = [];
  for (const [key, bytes] of stash) {
    if (used <= capacity) break;
    evicted.push(key);
    used -= bytes;
  }
  return used <= capacity ? evicted : undefined;
}

/** The error of a value that does not fit. */
export function storeFull(capacity: number): MeshError {
  return new MeshError(
    "resource_exhausted",
    `the shared state is full (${capacity} bytes); remove keys that are no longer needed`,
  );
}

/** Values in memory. */
export class MemoryBackend implements SharedStateBackend {
  readonly #values = new Map<string, { readonly value: string; readonly bytes: number }>();
  readonly #capacity: number;
  readonly #log: Log;

  constructor(capacity: number = SHARED_STATE_BYTES, log: Log = silentLog) {
    this.#capacity = capacity;
    this.#log = log;
  }

  get(key: string): Promise<string | undefined> {
    return Promise.resolve(this.#values.get(key)?.value);
  }

  set(key: string, value: string): Promise<void> {
    const bytes = byteLength(key) + byteLength(value);
    const sizes = [...this.#values].map(([known, entry]) => [known, entry.bytes] as const);
    const evicted = evictionsFor(sizes, key, bytes, this.#capacity);
    if (evicted === undefined) return Promise.reject(storeFull(this.#capacity));
    for (const old of evicted) {
      this.#values.delete(old);
      this.#log("warn", "stashed output evicted", { key: old });
    }
    this.#values.set(key, { value, bytes });
    return Promise.resolve();
  }

  remove(key: string): Promise<boolean> {
    return Promise.resolve(this.#values.delete(key));
  }

  keys(): Promise<readonly string[]> {
    return Promise.resolve([...this.#values.keys()]);
  }

  sizeOf(key: string): Promise<number> {
    return Promise.resolve(this.#values.get(key)?.bytes ?? 0);
  }
}

/** A view of a store; see the file comment. */
export class SharedState implements OutputStash {
  readonly #backend: SharedStateBackend;
  readonly #scope: string;

  constructor(backend: SharedStateBackend = new MemoryBackend(), scope: string = "") {
    this.#backend = backend;
    this.#scope = scope;
  }

  /** A view of its own below this one. */
  scoped(name: string): SharedState {
    return new SharedState(this.#backend, `${this.#scope}${clean(name)}${SCOPE}`);
  }

  get(key: string): Promise<string | undefined> {
    return this.#backend.get(this.#full(key));
  }

  set(key: string, value: string): Promise<void> {
    return this.#backend.set(this.#full(key), value);
  }

  remove(key: string): Promise<boolean> {
    return this.#backend.remove(this.#full(key));
  }

  async has(key: string): Promise<boolean> {
    return (await this.#backend.get(this.#full(key))) !== undefined;
  }

  /** Keys of this view, without its scope. */
  async keys(): Promise<readonly string[]> {
    const keys = await this.#backend.keys();
    return keys.filter((key) => key.startsWith(this.#scope)).map((key) => key.slice(this.#scope.length));
  }

  /** One line per key: `name (12 KB)`; without stashed output where asked. */
  async summary(options: { readonly withStash: boolean } = { withStash: true }): Promise<string> {
    const lines: string[] = [];
    for (const key of await this.keys()) {
      if (!options.withStash && isStashKey(key)) continue;
      const bytes = await this.#backend.sizeOf(this.#full(key));
      lines.push(`${key.replaceAll(SCOPE, "/")} (${sizeText(Math.max(0, bytes - byteLength(this.#full(key))))})`);
    }
    return lines.length === 0 ? "(empty)" : lines.join("\n");
  }

  async put(key: string, text: string): Promise<boolean> {
    try {
      await this.set(key, text);
      return true;
    } catch {
      return false;
    }
  }

  // The root view may name keys of scopes (it sees all); a scope strips separators, so none leads out of it.
  #full(key: string): string {
    return this.#scope === "" ? key : `${this.#scope}${clean(key)}`;
  }
}

function clean(name: string): string {
  return name.replaceAll(SCOPE, "");
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    action: { type: "string", enum: ["get", "set", "list", "remove"] },
    key: { type: "string", description: "Name of the value; not for list." },
    value: { type: "string", description: "Text to store; for set." },
  },
  required: ["action"],
  additionalProperties: false,
};

/** Name of the tool that reads and writes a shared state. */
export const SHARED_STATE_TOOL = "shared_state";

/** The tool that reads and writes a shared state. */
export function sharedStateTool(state: SharedState): AgentTool {
  return {
    name: SHARED_STATE_TOOL,
    description:
      "Store and read texts by key, shared with the other agents of this task. Use it to pass large artifacts by name.",
    parameters: PARAMETERS,
    maxOutputLines: Infinity,
    execute: (args) => act(state, args),
  };
}

async function act(state: SharedState, args: JsonObject): Promise<ToolOutput> {
  const { key, value } = args;
  const action = textArgument(args, "action");
  if (action === "list") return textOutput(await state.summary());
  if (typeof key !== "string" || key === "") throw invalidArguments(`"key" is needed for ${action}`);
  switch (action) {
    case "get": {
      const stored = await state.get(key);
      if (stored === undefined) throw toolNotFound(`nothing is stored under ${JSON.stringify(key)}`);
      return textOutput(stored);
    }
    case "set":
      if (typeof value !== "string") throw invalidArguments('"value" is needed for set');
      await state.set(key, value);
      return textOutput(`stored ${byteLength(value)} bytes under ${JSON.stringify(key)}`);
    case "remove":
      if (!(await state.remove(key))) throw toolNotFound(`nothing is stored under ${JSON.stringify(key)}`);
      return textOutput(`removed ${JSON.stringify(key)}`);
    default:
      throw invalidArguments(`unknown action ${JSON.stringify(action)}; use get, set, list or remove`);
  }
}

/** The part of a system prompt that lists what is stored; callers' keys only. */
export async function sharedStateSection(state: SharedState): Promise<string> {
  const summary = await state.summary({ withStash: false });
  return `## Shared state\nTexts you can read with the ${SHARED_STATE_TOOL} tool:\n${summary}`;
}
