/** `ctx.trace`: lets people see what an assistant is doing, step by step. */

import { outside } from "./outside.ts";
import type { Value, Values } from "./value.ts";

/** How a step is shown. */
export interface TraceNodeOption {
  /** What people read. */
  label: string;
  type?: string;
  icon?: string;
  description?: string;
  metadata?: Values;
  /** Whether the steps before are completed by this one; yes unless told otherwise. */
  autoCompleteParent?: boolean;
}

/** One of several steps that go on at the same time. */
export interface TraceParallelInput {
  input: Value;
  option: TraceNodeOption;
}

/** How a group of steps is shown. */
export interface TraceSpaceOption {
  label: string;
  type?: string;
  icon?: string;
  description?: string;
  /** Seconds it is shown. */
  ttl?: number;
  metadata?: Values;
}

/** What both the whole trace and one step of it can do. Methods that give nothing back return the object itself. */
export interface TraceTarget {
  /** Empty when tracing is switched off; all methods still work, and do nothing. */
  readonly id: string;
  /**
   * Begins a step: the next one of the trace, or one below this step.
   * @example
   * const step = ctx.trace.Add({ query: "tea" }, { label: "Search", icon: "search" });
   */
  Add(input: Value, option: TraceNodeOption): TraceNode;
  /**
   * Begins several steps that go on at the same time.
   * @example
   * const [web, files] = ctx.trace.Parallel([
   *   { input: {}, option: { label: "Web" } },
   *   { input: {}, option: { label: "Files" } },
   * ]);
   */
  Parallel(inputs: TraceParallelInput[]): TraceNode[];
  /**
   * A line of log, with values if you like.
   * @example
   * ctx.trace.Info("found 3 pages");
   */
  Info(message: string, ...data: Value[]): this;
  /**
   * A line for developers.
   * @example
   * ctx.trace.Debug("cache miss");
   */
  Debug(message: string, ...data: Value[]): this;
  /**
   * A line about something odd.
   * @example
   * ctx.trace.Warn("no date found, today assumed");
   */
  Warn(message: string, ...data: Value[]): this;
  /**
   * A line about something that failed.
   * @example
   * ctx.trace.Error("the shop did not answer");
   */
  Error(message: string, ...data: Value[]): this;
  /**
   * What the step has found so far.
   * @example
   * ctx.trace.SetOutput({ pages: 3 });
   */
  SetOutput(output: Value): this;
  /**
   * A fact about the step.
   * @example
   * ctx.trace.SetMetadata("duration", 1500);
   */
  SetMetadata(key: string, value: Value): this;
  /**
   * Ends the step well, with its output if given.
   * @example
   * ctx.trace.Add({}, { label: "Sum up" }).Complete({ words: 120 });
   */
  Complete(output?: Value): this;
  /**
   * Ends the step badly.
   * @example
   * ctx.trace.Add({}, { label: "Pay" }).Fail("card refused");
   */
  Fail(error: string): this;
}

/** One step. */
export interface TraceNode extends TraceTarget {}

/** The trace of a run; without a step of its own, a method speaks about the current one. */
export interface Trace extends TraceTarget {
  /**
   * Ends the whole trace.
   * @example
   * ctx.trace.MarkComplete();
   */
  MarkComplete(): this;
  /**
   * Whether it has ended.
   * @example
   * if (!ctx.trace.IsComplete()) ctx.trace.MarkComplete();
   */
  IsComplete(): boolean;
  /**
   * A group of steps on the page.
   * @example
   * const found = ctx.trace.CreateSpace({ label: "Found" });
   * found.Set("pages", 3);
   */
  CreateSpace(option: TraceSpaceOption): TraceSpace;
  /**
   * A group made before, or null.
   * @example
   * const found = ctx.trace.GetSpace("space-id");
   */
  GetSpace(id: string): TraceSpace | null;
  /**
   * Gives the trace up; done for you when a hook ends.
   * @example
   * ctx.trace.Release();
   */
  Release(): void;
}

/** A group of steps, with values shown beside them. */
export interface TraceSpace {
  readonly id: string;
  /** Shows a value. */
  Set(key: string, value: Value): this;
  /** The value, or null. */
  Get(key: string): Value;
  Has(key: string): boolean;
  Delete(key: string): this;
  Clear(): this;
  Keys(): string[];
}

/** See {@link Trace}. */
export interface TraceConstructor {
  new (): Trace;
  (): Trace;
}

/**
 * The trace of the run, for functions that have no `ctx`.
 *
 * @example
 * new Trace().Info("half done");
 */
export const Trace: TraceConstructor = outside("Trace");
