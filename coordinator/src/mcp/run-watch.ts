/**
 * What the events of a run tell somebody who waits for its result. Pure.
 *
 * A status line is for people; nothing is derived from it.
 */

import { isObject } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";

import { RUN_EVENT } from "../runs/run-state.ts";

/** How a run ended. */
export interface RunEnd {
  readonly state: string;
  readonly output: string;
  /** Only the beginning of the output is here. */
  readonly isOutputCut: boolean;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** The value it ended with, where it ended with one. */
  readonly value: unknown;
  /** Text of the last tool that was called by the run itself; never cut. */
  readonly toolText: string | undefined;
  /** It failed because the tool it called said so; `error` has the tool's words. */
  readonly isToolFailure: boolean;
}

/** Listens to one run. */
export class RunWatch {
  #end: RunEnd | undefined;
  #questions: readonly string[] | undefined;
  #value: unknown;
  #toolText: string | undefined;
  #hasToolFailed = false;

  /** How it ended; undefined while it goes on. */
  get end(): RunEnd | undefined {
    return this.#end;
  }

  /** What it asks a person, once it does. */
  get questions(): readonly string[] | undefined {
    return this.#questions;
  }

  /** Takes the next event; returns a line of status when there is something to tell. */
  hear({ kind, data }: Pick<RunEvent, "kind" | "data">): string | undefined {
    const body: unknown = data;
    if (!isObject(body)) return undefined;
    switch (kind) {
      case "message":
        return this.#message(body);
      case RUN_EVENT.finished:
        this.#finish(body);
        return undefined;
      case RUN_EVENT.asked:
        this.#questions = questionsOf(body["pending"]);
        return "waiting for an answer";
      case RUN_EVENT.placed:
        return `placed on ${textOf(body["node"])}`;
      case RUN_EVENT.started:
        return "running";
      case RUN_EVENT.queued:
      case RUN_EVENT.waiting:
      case RUN_EVENT.requeued:
      case RUN_EVENT.unreachable:
        return textOf(body["reason"]) || undefined;
      default:
        return undefined;
    }
  }

  #message(body: Readonly<Record<string, unknown>>): string | undefined {
    const props = isObject(body["props"]) ? body["props"] : {};
    switch (body["type"]) {
      case "execute":
        this.#hasToolFailed = props["status"] === "error";
        if (typeof props["output"] === "string") this.#toolText = props["output"];
        return props["status"] === "running" ? `tool ${textOf(props["tool"])}` : undefined;
      case "loading":
        return props["done"] === true ? undefined : textOf(props["message"]) || undefined;
      case "event":
        if (props["event"] === "stream_end") this.#value = valueOf(props["data"]);
        return undefined;
      default:
        return undefined;
    }
  }

  #finish(body: Readonly<Record<string, unknown>>): void {
    const error = isObject(body["error"]) ? body["error"] : undefined;
    const state = textOf(body["state"]);
    this.#end = {
      state,
      output: textOf(body["output"]),
      isOutputCut: body["output_truncated"] === true,
      error: error === undefined ? undefined : { code: textOf(error["code"]), message: textOf(error["message"]) },
      value: this.#value,
      toolText: this.#toolText,
      isToolFailure: state === "failed" && this.#hasToolFailed,
    };
  }
}

function valueOf(data: unknown): unknown {
  const metadata = isObject(data) ? data["metadata"] : undefined;
  return isObject(metadata) ? metadata["next"] : undefined;
}

function questionsOf(pending: unknown): readonly string[] {
  if (!Array.isArray(pending)) return [];
  return pending.filter(isObject).map((item) => textOf(item["text"]) || `may it use ${textOf(item["tool"])}?`);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
