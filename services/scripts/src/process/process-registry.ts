/**
 * Processes by name: what `Process("group.id.Method", …)` and MCP tools of an app call.
 *
 * P1  Group and known method names match in any case; ids, and methods of groups without a fixed list, match as written.
 * P2  An unknown name fails with the closest names and the names there are.
 * P3  Arguments and results are bounded in number, size and depth; what a handler throws leaves as a MeshError.
 * P4  A call whose run is over does not start.
 */

import { type Json, MeshError, nearNames } from "@mesh/kernel";

import { checkJsonSize, type JsonLimits } from "./json-size.ts";
import { ProcessArgs } from "./process-args.ts";
import type { ProcessCaller } from "./process-caller.ts";
import type { ProcessGroup, ProcessResult } from "./process-group.ts";

/** Bounds on every call of a registry. */
export interface ProcessLimits extends JsonLimits {
  readonly maxArgs: number;
}

const DEFAULT_LIMITS: ProcessLimits = { maxArgs: 256, maxSize: 8 * 1024 * 1024, maxDepth: 100 };
const MAX_NAME = 256;
const MAX_LISTED = 40;

interface Entry {
  readonly label: string;
  readonly group: ProcessGroup;
  /** Lower-case name → name as declared. */
  readonly names: ReadonlyMap<string, string> | undefined;
}

/** All processes of one runner. */
export class ProcessRegistry {
  readonly #entries = new Map<string, Entry>();
  readonly #limits: ProcessLimits;

  constructor(limits: Partial<ProcessLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** Adds a group; a name that is taken is a mistake of the embedder. */
  register(name: string, group: ProcessGroup): void {
    const key = name.toLowerCase();
    if (this.#entries.has(key))
      throw new MeshError("already_exists", `the process group ${name} is registered already`);
    const names = group.names === undefined ? undefined : new Map(group.names.map((it) => [it.toLowerCase(), it]));
    this.#entries.set(key, { label: name, group, names });
  }

  /** Runs a process. */
  async call(name: string, args: readonly Json[], caller: ProcessCaller): Promise<ProcessResult> {
    const { entry, id, method } = this.#find(name);
    if (args.length > this.#limits.maxArgs) {
      throw new MeshError("invalid_argument", `${name} takes at most ${this.#limits.maxArgs} arguments; pass a list`);
    }
    checkJsonSize(`the arguments of ${name}`, args, this.#limits);
    if (caller.signal.aborted) throw new MeshError("cancelled", `${name} was not started: the run is over`);
    try {
      const result = await entry.group.call({ name, id, method, args: new ProcessArgs(name, args) }, caller);
      checkJsonSize(`the result of ${name}`, result, this.#limits);
      return result;
    } catch (error) {
      throw MeshError.from(error);
    }
  }

  /** Names of all groups, or of what one group has; of a group without a fixed list: none. */
  names(group?: string): string[] {
    if (group === undefined) return [...this.#entries.values()].map((entry) => entry.label);
    return [...(this.#entries.get(group.toLowerCase())?.names?.values() ?? [])];
  }

  #find(name: string): { readonly entry: Entry; readonly id: string; readonly method: string } {
    if (name.length > MAX_NAME)
      throw new MeshError("invalid_argument", `a process name has at most ${MAX_NAME} characters`);
    const dot = name.indexOf(".");
    const group = dot < 0 ? name : name.slice(0, dot);
    const entry = this.#entries.get(group.toLowerCase());
    if (entry === undefined)
      throw unknownName(name, nearNames(group, this.names()), { of: "groups", all: this.names() });
    const rest = dot < 0 ? "" : name.slice(dot + 1);
    const split = entry.group.kind === "fixed" ? 0 : rest.lastIndexOf(".") + 1;
    const method = rest.slice(split);
    const known = entry.names === undefined ? method : entry.names.get(method.toLowerCase());
    if (known === undefined || known === "") throw this.#unknownMethod(name, entry, rest.slice(0, split));
    return { entry, id: rest.slice(0, Math.max(0, split - 1)), method: known };
  }

  #unknownMethod(name: string, entry: Entry, prefix: string): MeshError {
    const all = [...(entry.names?.values() ?? [])];
    const base = `${entry.label}.${prefix}`;
    const asked = name.slice(base.length);
    const near = nearNames(asked, all).map((it) => base + it);
    // Of a large fixed group only the named part is listed: `utils.str.X` lists utils.str.
    const part = asked.slice(0, asked.lastIndexOf(".") + 1).toLowerCase();
    const listed = all.filter((it) => it.toLowerCase().startsWith(part));
    return unknownName(name, near, { of: entry.label, all: listed.length > 0 ? listed : all });
  }
}

function unknownName(
  name: string,
  near: readonly string[],
  { of, all }: { readonly of: string; readonly all: readonly string[] },
): MeshError {
  const hint = near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
  const more = all.length > MAX_LISTED ? ` and ${all.length - MAX_LISTED} more` : "";
  const list = all.length === 0 ? "" : ` (${of}: ${all.slice(0, MAX_LISTED).join(", ")}${more})`;
  return new MeshError("not_found", `there is no process "${name}"${hint}${list}`, {
    details: { process: name, near },
  });
}
