/**
 * The trace of a run: a tree of steps that an assistant shows while it works, told as events of the run.
 *
 * T1  A step added while others run completes them and follows them, unless it says `autoCompleteParent: false`.
 * T2  Every change is one event; `node_start` and `node_complete` / `node_failed` come in pairs: what is still open when the
 *     trace ends is completed.
 * T3  Nodes, spaces and what they hold are bounded; each change fits into one event.
 * T4  Once the trace has ended, later calls change nothing.
 */

import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

/** Takes one trace event. */
export type TraceSink = (event: JsonObject) => void;

interface TraceNode {
  readonly id: string;
  readonly parents: readonly string[];
  readonly startedMs: number;
  readonly metadata: Record<string, Json>;
  status: "running" | "completed" | "failed";
  output: Json | undefined;
}

/** How far a trace has counted. */
export interface TraceCounts {
  readonly nodes: number;
  readonly spaces: number;
}

const MAX_NODES = 5_000;
const MAX_SPACES = 200;
const MAX_PARALLEL = 100;
const MAX_JSON_CHARS = 64 * 1024;
const MAX_KEYS = 1_000;
const MAX_KEY_CHARS = 200;
// Of everything that nodes and spaces hold: it is kept as long as the run.
const MAX_HELD_CHARS = 4 * 1024 * 1024;
const LEVELS = new Set(["info", "debug", "warn", "error"]);

/** See the file comment. */
export class Trace {
  readonly id: string;
  readonly #clock: Clock;
  readonly #sink: TraceSink;
  readonly #nodes = new Map<string, TraceNode>();
  readonly #spaces = new Map<string, Map<string, Json>>();
  #current: readonly string[] = [];
  #heldChars = 0;
  #isComplete = false;
  readonly #before: TraceCounts;
  #startedMs: number;

  /** `before`: what a segment of the run before this one has told; its steps have ended. */
  constructor(id: string, clock: Clock, sink: TraceSink, before: TraceCounts = { nodes: 0, spaces: 0 }) {
    this.id = id;
    this.#before = before;
    this.#clock = clock;
    this.#sink = sink;
    this.#startedMs = clock.now();
  }

  /** Ends the open steps of a run that waits for a person, and says how far it has counted. */
  pause(): TraceCounts {
    for (const node of this.#nodes.values()) if (node.status === "running") this.#end(node, undefined);
    this.#isComplete = true;
    return { nodes: this.#nodeCount, spaces: this.#spaceCount };
  }

  get #nodeCount(): number {
    return this.#before.nodes + this.#nodes.size;
  }

  get #spaceCount(): number {
    return this.#before.spaces + this.#spaces.size;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Adds a step after the current ones; returns its id. */
  add(input: Json, option: Json): string {
    const [id = ""] = this.#start([{ input, option }], this.#current);
    return id;
  }

  /** Adds steps that run at the same time; returns their ids in order. */
  parallel(inputs: Json): readonly string[] {
    return this.#start(readParallel(inputs), this.#current);
  }

  /** Adds steps under a node; the current step stays what it is. */
  addUnder(parent: string, inputs: readonly { readonly input: Json; readonly option: Json }[]): readonly string[] {
    this.#node(parent);
    const current = this.#current;
    const ids = this.#start(inputs, [parent], false);
    this.#current = current;
    return ids;
  }

  /** Adds parallel steps under a node. */
  parallelUnder(parent: string, inputs: Json): readonly string[] {
    return this.addUnder(parent, readParallel(inputs));
  }

  /** Adds a line to a node, or to the current one. */
  log(level: string, message: Json, node?: string): void {
    if (!LEVELS.has(level)) throw new MeshError("invalid_argument", `there is no trace level ${level}`);
    const text = typeof message === "string" ? message : JSON.stringify(message);
    const nodeId = node ?? this.#current.at(-1) ?? "";
    this.#tell("log_added", { node_id: nodeId, level, message: text.slice(0, MAX_JSON_CHARS) });
  }

  setOutput(output: Json, node?: string): void {
    for (const each of this.#targets(node)) {
      each.output = bounded(output);
      this.#tell("node_updated", { node_id: each.id, output: each.output });
    }
  }

  setMetadata(key: string, value: Json, node?: string): void {
    for (const each of this.#targets(node)) {
      if (Object.keys(each.metadata).length >= 100)
        throw new MeshError("resource_exhausted", "a trace node holds 100 metadata keys at most");
      Object.defineProperty(each.metadata, key, {
        value: bounded(value),
        enumerable: true,
        writable: true,
        configurable: true,
      });
      this.#tell("node_updated", { node_id: each.id, metadata: { ...each.metadata } });
    }
  }

  complete(output: Json | undefined, node?: string): void {
    for (const each of this.#targets(node)) this.#end(each, output);
  }

  fail(error: Json, node?: string): void {
    const text = typeof error === "string" ? error : JSON.stringify(error);
    for (const each of this.#targets(node)) {
      each.status = "failed";
      this.#tell("node_failed", {
        node_id: each.id,
        status: "failed",
        error: text.slice(0, MAX_JSON_CHARS),
        ...this.#spent(each),
      });
    }
  }

  /** Ends the trace; what is still open is completed. Later calls change nothing. */
  markComplete(status: "completed" | "failed" | "cancelled" = "completed"): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    if (this.#nodeCount === 0 && this.#spaceCount === 0) return;
    for (const node of this.#nodes.values()) if (node.status === "running") this.#end(node, undefined);
    this.#tell("complete", { status, total_duration: this.#clock.now() - this.#startedMs });
  }

  /** Makes a space, a container for what is shown together; returns its id. */
  createSpace(option: Json): string {
    if (this.#spaceCount >= MAX_SPACES)
      throw new MeshError("resource_exhausted", `a trace has ${MAX_SPACES} spaces at most`);
    const given = isObject(option) ? option : {};
    const id = typeof given["id"] === "string" && given["id"] !== "" ? given["id"] : `S${this.#spaceCount + 1}`;
    this.#spaces.set(id, new Map());
    this.#tell("space_created", { space: { ...(bounded(given) as JsonObject), id } });
    return id;
  }

  hasSpace(id: string): boolean {
    return this.#spaces.has(id);
  }

  spaceSet(id: string, key: string, value: Json): void {
    this.#space(id).set(key, bounded(value));
    this.#tell("memory_add", { space_id: id, item: { id: key, content: bounded(value) } });
  }

  spaceGet(id: string, key: string): Json {
    return this.#space(id).get(key) ?? null;
  }

  spaceKeys(id: string): readonly string[] {
    return [...this.#space(id).keys()];
  }

  spaceDelete(id: string, key?: string): void {
    if (key === undefined) this.#space(id).clear();
    else this.#space(id).delete(key);
    this.#tell("memory_delete", { space_id: id, ...(key === undefined ? { cleared: true } : { key }) });
  }

  #start(
    inputs: readonly { readonly input: Json; readonly option: Json }[],
    parents: readonly string[],
    completesParents = true,
  ): readonly string[] {
    if (this.#nodeCount + inputs.length > MAX_NODES) {
      throw new MeshError("resource_exhausted", `a trace has ${MAX_NODES} nodes at most`);
    }
    const autoCompletes =
      completesParents && inputs.every(({ option }) => !isObject(option) || option["autoCompleteParent"] !== false);
    if (autoCompletes) for (const id of parents) this.#endIfRunning(id);
    const nodes = inputs.map(({ input, option }) => this.#newNode(input, option, parents));
    this.#current = nodes;
    return nodes;
  }

  #newNode(input: Json, option: Json, parents: readonly string[]): string {
    const { autoCompleteParent: _auto, metadata, ...shown } = isObject(option) ? option : {};
    const id = `N${this.#nodeCount + 1}`;
    const startedMs = this.#clock.now();
    const own = isObject(metadata) ? { ...(bounded(metadata) as Record<string, Json>) } : {};
    this.#nodes.set(id, { id, parents, startedMs, metadata: own, status: "running", output: undefined });
    this.#tell("node_start", {
      node: {
        ...(bounded(shown) as JsonObject),
        id,
        parent_ids: parents,
        status: "running",
        input: bounded(input),
        metadata: own,
        start_time: startedMs,
      },
    });
    return id;
  }

  #endIfRunning(id: string): void {
    const node = this.#nodes.get(id);
    if (node?.status === "running") this.#end(node, undefined);
  }

  #end(node: TraceNode, output: Json | undefined): void {
    node.status = "completed";
    if (output !== undefined) node.output = bounded(output);
    this.#tell("node_complete", {
      node_id: node.id,
      status: "success",
      ...this.#spent(node),
      ...(node.output === undefined ? {} : { output: node.output }),
    });
  }

  #spent(node: TraceNode): JsonObject {
    const now = this.#clock.now();
    return { end_time: now, duration: now - node.startedMs };
  }

  #targets(id: string | undefined): readonly TraceNode[] {
    if (id !== undefined) return [this.#node(id)];
    return this.#current.flatMap((each) => this.#nodes.get(each) ?? []);
  }

  #node(id: string): TraceNode {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new MeshError("not_found", `this trace has no node ${id}`);
    return node;
  }

  #space(id: string): Map<string, Json> {
    const space = this.#spaces.get(id);
    if (space === undefined) throw new MeshError("not_found", `this trace has no space ${id}`);
    return space;
  }

  #tell(type: string, data: JsonObject): void {
    this.#sink({ type, trace_id: this.id, timestamp: this.#clock.now(), data });
  }
}

function readParallel(inputs: Json): readonly { readonly input: Json; readonly option: Json }[] {
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > MAX_PARALLEL) {
    throw new MeshError("invalid_argument", `Parallel takes a list of 1 to ${MAX_PARALLEL} {input, option}`);
  }
  return inputs.map((each, index) => {
    if (!isObject(each)) throw new MeshError("invalid_argument", `Parallel: entry ${index} must be {input, option}`);
    const { input = null, option = {} } = each as JsonObject;
    return { input, option };
  });
}

/** Traces are for people: what is too large to read is replaced by its beginning. */
function bounded(value: Json): Json {
  const text = JSON.stringify(value);
  return text.length <= MAX_JSON_CHARS ? value : { truncated: true, bytes: text.length, head: text.slice(0, 2_000) };
}
