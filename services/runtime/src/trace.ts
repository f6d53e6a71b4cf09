/**
 * The trace of a run: a tree of steps that an assistant shows while it works, told as events of the run.
 *
 * T1  A step added while others run completes them and follows them, unless it says `autoCompleteParent: false`.
 * T2  Every change is one event; each `node_start` has one `node_complete` or `node_failed`: what is still open when the
 *     trace ends is completed.
 * T3  Nodes, spaces and what they hold are bounded; each change fits into one event.
 * T4  Once the trace has ended, later calls change nothing.
 */

import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { bounded, boundedText, Held, HeldEntries, readKey } from "./trace-bound.ts";
import { TraceSpaces } from "./trace-space.ts";

/** Takes one trace event. */
export type TraceSink = (event: JsonObject) => void;

/** How far a trace has counted. */
export interface TraceCounts {
  readonly nodes: number;
  readonly spaces: number;
}

interface TraceNode {
  readonly id: string;
  readonly startedMs: number;
  readonly metadata: HeldEntries;
  /** One entry: what the step gave. */
  readonly output: HeldEntries;
  isRunning: boolean;
}

interface Step {
  readonly input: Json;
  readonly option: Json;
}

const MAX_NODES = 5_000;
const MAX_PARALLEL = 100;
const MAX_METADATA_CHARS = 64 * 1024;
const LEVELS = new Set(["info", "debug", "warn", "error"]);

/** See the file comment. */
export class Trace {
  readonly id: string;
  readonly #clock: Clock;
  readonly #sink: TraceSink;
  readonly #nodes = new Map<string, TraceNode>();
  readonly #held = new Held();
  readonly #spaces: TraceSpaces;
  readonly #startedMs: number;
  /** Of all segments of the run. */
  #count: number;
  #current: readonly string[] = [];
  #isComplete = false;

  /** `before`: what a segment of the run before this one has told; its steps have ended. */
  constructor(id: string, clock: Clock, sink: TraceSink, before: TraceCounts = { nodes: 0, spaces: 0 }) {
    this.id = id;
    this.#clock = clock;
    this.#sink = sink;
    this.#startedMs = clock.now();
    this.#count = before.nodes;
    this.#spaces = new TraceSpaces(this.#held, before.spaces);
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Ends the open steps of a run that waits for a person, and says how far it has counted. */
  pause(): TraceCounts {
    for (const node of this.#nodes.values()) this.#end(node, undefined);
    this.#isComplete = true;
    return { nodes: this.#count, spaces: this.#spaces.count };
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
  addUnder(parent: string, inputs: readonly Step[]): readonly string[] {
    if (!this.#isComplete) this.#node(parent);
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
    if (!LEVELS.has(level)) throw new MeshError("invalid_argument", `there is no trace level ${level.slice(0, 100)}`);
    if (this.#isComplete) return;
    const nodeId = node === undefined ? (this.#current.at(-1) ?? "") : this.#node(node).id;
    this.#tell("log_added", { node_id: nodeId, level, message: boundedText(message) });
  }

  setOutput(output: Json, node?: string): void {
    for (const { id, output: kept } of this.#targets(node)) {
      this.#tell("node_updated", { node_id: id, output: kept.set("", output, Number.POSITIVE_INFINITY) });
    }
  }

  setMetadata(key: string, value: Json, node?: string): void {
    readKey(key, "a key of metadata");
    for (const { id, metadata } of this.#targets(node)) {
      metadata.set(key, value, MAX_METADATA_CHARS);
      this.#tell("node_updated", { node_id: id, metadata: Object.fromEntries(metadata.entries()) });
    }
  }

  complete(output: Json | undefined, node?: string): void {
    for (const each of this.#targets(node)) this.#end(each, output);
  }

  fail(error: Json, node?: string): void {
    for (const each of this.#targets(node)) {
      if (!each.isRunning) continue;
      each.isRunning = false;
      const spent = this.#spent(each);
      this.#tell("node_failed", { node_id: each.id, status: "failed", error: boundedText(error), ...spent });
    }
  }

  /** Ends the trace. */
  markComplete(status: "completed" | "failed" | "cancelled" = "completed"): void {
    if (this.#isComplete) return;
    for (const node of this.#nodes.values()) this.#end(node, undefined);
    this.#isComplete = true;
    if (this.#count === 0 && this.#spaces.count === 0) return;
    this.#tell("complete", { status, total_duration: this.#clock.now() - this.#startedMs });
  }

  /** Makes a space, a container for what is shown together; returns its id. */
  createSpace(option: Json): string {
    const given = isObject(option) ? option : {};
    const id = this.#spaces.create(given["id"]);
    const shown = bounded(given);
    if (!this.#isComplete) this.#tell("space_created", { space: { ...(isObject(shown) ? shown : {}), id } });
    return id;
  }

  hasSpace(id: string): boolean {
    return this.#spaces.has(id);
  }

  spaceSet(id: string, key: string, value: Json): void {
    if (this.#isComplete) return;
    const content = this.#spaces.set(id, key, value);
    this.#tell("memory_add", { space_id: id, item: { id: key, content } });
  }

  spaceGet(id: string, key: string): Json {
    return this.#spaces.get(id, key);
  }

  spaceKeys(id: string): readonly string[] {
    return this.#spaces.keys(id);
  }

  spaceDelete(id: string, key?: string): void {
    if (this.#isComplete) return;
    if (key !== undefined) readKey(key, "a key of a space");
    this.#spaces.delete(id, key);
    this.#tell("memory_delete", { space_id: id, ...(key === undefined ? { cleared: true } : { key }) });
  }

  #start(steps: readonly Step[], parents: readonly string[], completesParents = true): readonly string[] {
    // A script goes on with what it holds, though nobody is told.
    if (this.#isComplete) return steps.map(() => "");
    if (this.#count + steps.length > MAX_NODES) {
      throw new MeshError("resource_exhausted", `a trace has ${MAX_NODES} nodes at most`);
    }
    const autoCompletes =
      completesParents && steps.every(({ option }) => !isObject(option) || option["autoCompleteParent"] !== false);
    if (autoCompletes) for (const node of this.#targets(undefined)) this.#end(node, undefined);
    const nodes = steps.map((step) => this.#newNode(step, parents));
    this.#current = nodes;
    return nodes;
  }

  #newNode({ input, option }: Step, parents: readonly string[]): string {
    const { autoCompleteParent: _auto, metadata: given, ...shown } = isObject(option) ? option : {};
    const id = `N${(this.#count += 1)}`;
    const startedMs = this.#clock.now();
    const metadata = new HeldEntries(this.#held);
    const own = isObject(given) ? bounded(given) : {};
    for (const [key, value] of Object.entries(isObject(own) ? own : {})) metadata.set(key, value, Infinity);
    this.#nodes.set(id, { id, startedMs, metadata, output: new HeldEntries(this.#held), isRunning: true });
    const told = bounded(shown);
    this.#tell("node_start", {
      node: {
        ...(isObject(told) ? told : {}),
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

  #end(node: TraceNode, output: Json | undefined): void {
    if (!node.isRunning) return;
    if (output !== undefined) node.output.set("", output, Number.POSITIVE_INFINITY);
    node.isRunning = false;
    const kept = node.output.get("");
    this.#tell("node_complete", {
      node_id: node.id,
      status: "success",
      ...this.#spent(node),
      ...(kept === undefined ? {} : { output: kept }),
    });
  }

  #spent(node: TraceNode): JsonObject {
    const now = this.#clock.now();
    return { end_time: now, duration: now - node.startedMs };
  }

  #targets(id: string | undefined): readonly TraceNode[] {
    if (this.#isComplete) return [];
    if (id !== undefined) return [this.#node(id)];
    return this.#current.flatMap((each) => this.#nodes.get(each) ?? []);
  }

  #node(id: string): TraceNode {
    const node = this.#nodes.get(id);
    if (node === undefined) throw new MeshError("not_found", `this trace has no node ${id.slice(0, 100)}`);
    return node;
  }

  #tell(type: string, data: JsonObject): void {
    this.#sink({ type, trace_id: this.id, timestamp: this.#clock.now(), data });
  }
}

function readParallel(inputs: Json): readonly Step[] {
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > MAX_PARALLEL) {
    throw new MeshError("invalid_argument", `Parallel takes a list of 1 to ${MAX_PARALLEL} {input, option}`);
  }
  return inputs.map((each, index) => {
    if (!isObject(each)) throw new MeshError("invalid_argument", `Parallel: entry ${index} must be {input, option}`);
    const { input = null, option = {} } = each as JsonObject;
    return { input, option };
  });
}
