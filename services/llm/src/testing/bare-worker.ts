/**
 * Runs a bundle where there is no Node: in a thread of its own that keeps the language and the Web's globals, and nothing
 * else. What the bundle would miss in a browser or at an edge, it misses here.
 */

import { once } from "node:events";
import { Worker } from "node:worker_threads";

// Without fetch and its classes: Node's own are written with Node's globals, and a bundle is given a fetch.
const WEB_GLOBALS: readonly string[] = [
  "AbortController AbortSignal DOMException Event EventTarget ReadableStream TransformStream",
  "TextDecoder TextEncoder URL URLSearchParams atob btoa crypto structuredClone",
  "clearInterval clearTimeout performance queueMicrotask setInterval setTimeout",
].flatMap((line) => line.split(" "));

// The loader's own `require` is out of reach for what runs by `runInThisContext`.
const LOADER = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { runInNewContext, runInThisContext } = require("node:vm");
  const language = runInNewContext("Object.getOwnPropertyNames(globalThis)");
  const kept = new Set([...language, ...workerData.globals, "globalThis"]);
  for (const name of Object.getOwnPropertyNames(globalThis)) if (!kept.has(name)) delete globalThis[name];
  const left = Object.getOwnPropertyNames(globalThis).filter((name) => !kept.has(name));
  runInThisContext(workerData.bundle);
  Promise.resolve(runInThisContext(workerData.expression)).then((value) => parentPort.postMessage({ value, left }));
`;

/** What came of a bundle. */
export interface BareOutcome {
  /** What the expression gave, or resolved to. */
  readonly value: unknown;
  /** Globals of Node that could not be taken away; must be empty. */
  readonly left: readonly string[];
}

/** Loads a bundle (a classic script), then evaluates an expression beside it; rejects when either throws. */
export async function runInBareWorker(bundle: string, expression: string): Promise<BareOutcome> {
  const worker = new Worker(LOADER, { eval: true, workerData: { bundle, expression, globals: WEB_GLOBALS } });
  try {
    const [outcome] = (await once(worker, "message")) as [BareOutcome];
    return outcome;
  } finally {
    await worker.terminate();
  }
}
