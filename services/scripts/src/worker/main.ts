/**
 * A script worker: a thread that runs one call at a time, each in a fresh context. It is bundled into one text with the
 * guest inside (`npm run gen`), so that it starts the same from sources and from built code.
 */

import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext, Script } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";

import { CallService } from "./call-service.ts";
import { type FromWorker, MAX_PROGRAMS, SHARED, type ToWorker, WORKER_STATES, type WorkerStart } from "./protocol.ts";
import { Sandbox } from "./sandbox.ts";

/** The guest's text; put in by the bundler. */
declare const GUEST_SOURCE: string;

type Call = Extract<ToWorker, { kind: "call" }>;

/**
 * A heap that has grown so far since the last collection is cleaned while nobody waits. Less than fits among the young (see
 * the host), so that old contexts are dropped there and not copied on first: half the work of collecting.
 */
const GROWTH_BYTES = 16 * 1024 * 1024;
/** To look at the heap costs as much as to run a small script. */
const CALLS_PER_LOOK = 4;

const start = workerData as WorkerStart;
const port = parentPort;
const shared = new Int32Array(start.shared);
const guest = new Script(GUEST_SOURCE, { filename: "yao:guest" });
/** The text of one that was never compiled: it may not compile, and that is told at every call of it. */
const programs = new Map<string, Script | string>();
const collectGarbage = garbageCollector();
/** Made ahead while the worker is idle. */
let spare: Sandbox | undefined = new Sandbox(guest);
let calls = 0;
let heapAfterCollection = getHeapStatistics().used_heap_size;

/** V8's own function, which new contexts show from here on; the guest takes it away from scripts. */
function garbageCollector(): () => void {
  // Never unset: the flag is the process's, and another worker may be just about to look.
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

/** The heap's limit is so high (see the host) that V8 alone would let hundreds of megabytes of old contexts pile up. */
function tidy(): void {
  calls += 1;
  if (calls % CALLS_PER_LOOK !== 0) return;
  if (getHeapStatistics().used_heap_size < heapAfterCollection + GROWTH_BYTES) return;
  collectGarbage();
  heapAfterCollection = getHeapStatistics().used_heap_size;
}

function programOf({ program }: Call): Script {
  const known = programs.get(program.digest) ?? program.code ?? "";
  if (typeof known !== "string") return known;
  programs.set(program.digest, known);
  const [oldest] = programs.keys();
  if (programs.size > MAX_PROGRAMS && oldest !== undefined) programs.delete(oldest);
  const script = new Script(known, { filename: program.file });
  programs.set(program.digest, script);
  return script;
}

/** What the function came to. A program that does not compile here is the script's fault like any other. */
function outcomeOf(sandbox: Sandbox, call: Call): string {
  let program: Script;
  try {
    program = programOf(call);
  } catch (error) {
    return `-${JSON.stringify({ name: "SyntaxError", message: error instanceof Error ? error.message : "unreadable" })}`;
  }
  return sandbox.run(program, call.fn, call.args);
}

function serve(call: Call): void {
  if (port === null) return;
  const sandbox = spare ?? new Sandbox(guest);
  spare = undefined;
  const service = new CallService(
    {
      port,
      shared,
      bufferBytes: start.bufferBytes,
      now: () => performance.now(),
      bufferBytesHeld: () => process.memoryUsage().arrayBuffers,
    },
    sandbox,
    call.limits,
  );
  sandbox.connect((op, args) => service.serve(op, args));
  if (call.memory !== "") sandbox.loadMemory(call.memory);
  const outcome = outcomeOf(sandbox, call);
  if (outcome.length > call.limits.resultBytes) service.stop("resultBytes", outcome.length);
  const changes = service.takeChanges();
  const { operations, runMs } = service;
  post({ kind: "done", outcome, changes, operations, runMs });
  sandbox.close();
  Atomics.store(shared, SHARED.state, WORKER_STATES.idle);
}

function post(message: FromWorker): void {
  port?.postMessage(message);
}

port?.on("message", (message: ToWorker) => {
  // Anything else came too late for its call.
  if (message.kind !== "call") return;
  serve(message);
  spare = new Sandbox(guest);
  tidy();
});
post({ kind: "ready" });
