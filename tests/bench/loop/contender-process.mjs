/**
 * One contender in a process of its own; does one job after another and answers over IPC. Only the runs themselves are inside the
 * measured part; each is checked (final text, all deltas read, as many requests as there are responses) and a wrong one fails the job.
 */

import { setMaxListeners } from "node:events";

import { Scenario, STALL_PATH } from "./scenario.mjs";

const [, , name, origin] = process.argv;
const { prepare } = await import(`./contender/${name}.mjs`);

const add = async ({ a, b }) => String(a + b);
const ignoreText = () => undefined;
const prepared = new Map();

const JOBS = {
  /** Processor milliseconds per response. */
  async time(scenario) {
    const run = runOf(scenario);
    // No forced collection here: it throws compiled code away, and a round would measure the compiler.
    await requestsSince();
    const texts = [];
    let read = 0;
    const onText = (text) => {
      read += text.length;
    };
    const before = process.cpuUsage();
    for (let done = 0; done < scenario.runs; done += 1) texts.push(await run({ signal: liveSignal(), onText }));
    const { user, system } = process.cpuUsage(before);
    await check(scenario, texts, read);
    return (user + system) / 1000 / (scenario.runs * scenario.requests);
  },

  /** Bytes of heap that each of many concurrent runs leaves behind. */
  async heap(scenario) {
    const run = runOf(scenario);
    await requestsSince();
    await settledHeap();
    const before = process.memoryUsage().heapUsed;
    let read = 0;
    let wrong = 0;
    const onText = (text) => {
      read += text.length;
    };
    const one = async () => {
      if ((await run({ signal: liveSignal(), onText })) !== scenario.finalText) wrong += 1;
    };
    await Promise.all(Array.from({ length: scenario.runs }, one));
    await settledHeap();
    const left = (process.memoryUsage().heapUsed - before) / scenario.runs;
    if (wrong > 0) throw new Error(`${wrong} runs gave a wrong text`);
    await check(scenario, [], read);
    return left;
  },

  /** Milliseconds from abort to the end of a run whose model has stopped in the middle of its answer. */
  abortStream() {
    const run = prepare({ baseURL: origin + STALL_PATH, add });
    return abortedAfter((heard) => (options) => run({ ...options, onText: heard }));
  },

  /** The same with a tool that ignores its signal for a second. */
  abortTool(scenario) {
    return abortedAfter((heard) => {
      const deaf = (args) => {
        heard();
        return new Promise((resolve) => setTimeout(resolve, 1000, String(args.a + args.b)));
      };
      const run = prepare({ baseURL: origin + scenario.path, add: deaf });
      return (options) => run({ ...options, onText: ignoreText });
    });
  },
};

process.on("message", ({ job, shape }) => {
  const scenario = shape === undefined ? undefined : new Scenario("", shape);
  JOBS[job](scenario).then(
    (result) => process.send({ result }),
    (error) => process.send({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send({ result: "ready" });

async function abortedAfter(start) {
  const stop = new AbortController();
  let abortedAt = 0;
  const heard = () => {
    if (abortedAt !== 0) return;
    abortedAt = -1;
    // Not inside the library's own call stack, but as soon as it is over.
    setImmediate(() => {
      abortedAt = performance.now();
      stop.abort();
    });
  };
  // How a library tells an abort is its own affair: by a throw or by an early end.
  await start(heard)({ signal: stop.signal }).catch(() => undefined);
  if (abortedAt <= 0) throw new Error("the run ended before it was aborted");
  return performance.now() - abortedAt;
}

/** Every run can be cancelled, as in an application; what Node would print about the listeners of `fetch` is not measured. */
function liveSignal() {
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  return signal;
}

function runOf(scenario) {
  const known = prepared.get(scenario.path);
  if (known !== undefined) return known;
  const run = prepare({ baseURL: origin + scenario.path, add });
  prepared.set(scenario.path, run);
  return run;
}

async function check(scenario, texts, read) {
  const requests = await requestsSince();
  if (requests !== scenario.runs * scenario.requests) throw new Error(`${requests} requests in ${scenario.runs} runs`);
  if (texts.some((text) => text !== scenario.finalText)) throw new Error("a run gave a wrong text");
  if (read !== scenario.runs * scenario.textLength) throw new Error(`${read} characters of deltas were read`);
}

/** Requests at the server since the last time this was asked. */
async function requestsSince() {
  const response = await fetch(`${origin}/requests`);
  return Number(await response.text());
}

/** Collects until nothing more goes: finalizers and closed connections need turns of the event loop. */
async function settledHeap() {
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc();
  }
}
