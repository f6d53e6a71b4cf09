/**
 * A runner process: executes the runs of one workspace. It holds no credentials of the mesh, talks only to the agent that
 * forked it, and ends when that agent does.
 */

import { setMaxListeners } from "node:events";

import type { Log } from "@mesh/agent";
import { errorText, systemClock } from "@mesh/kernel";
import { BUNDLED_PRICES, PriceBook } from "@mesh/llm";
import type { SteeringMessage } from "@mesh/runtime";
import { Workbench } from "@mesh/runtime/node";

import { AGENT_VERSION } from "../version.ts";
import { AppCache } from "./app-cache.ts";
import type { EvalJobs } from "./eval-job.ts";
import { type EvalJob, type FromRunner, isToRunner, type Job, type RunEnd, type RunJob } from "./protocol.ts";
import { QuestionDesk } from "./question-desk.ts";
import { endOf, runJob } from "./run-job.ts";

const log: Log = (level, message, fields) => {
  process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`);
};
const ports = {
  clock: systemClock,
  random: (): number => Math.random(),
  prices: new PriceBook([BUNDLED_PRICES]),
  env: process.env,
  log,
};
const FAREWELL_MS = 500;
// By it the agent finds what a runner has left behind.
const MARK = { YAO_RUNNER: process.env["YAO_RUNNER"] ?? "" };
const apps = new AppCache();
let bench: Workbench | undefined;
let evals: Promise<EvalJobs> | undefined;
// The same once it is there, for an end that cannot wait.
let openEvals: EvalJobs | undefined;
const questions = new QuestionDesk(send);
const running = new Map<string, Running>();

/** A run at work: what stops it, and what was said to it and not read yet. */
interface Running {
  readonly stop: AbortController;
  readonly said: SteeringMessage[];
}

function send(message: FromRunner): Promise<void> {
  return new Promise((resolve) => {
    // A closed channel means that the agent is gone; the disconnect below ends this process.
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}

function stuck(): void {
  void send({ kind: "stuck" });
}

async function start(job: Job): Promise<void> {
  const { runId, epoch } = job;
  const key = `${runId}:${epoch}`;
  if (running.has(key)) return;
  const stop = new AbortController();
  // Everything that a run does at once listens for its end.
  setMaxListeners(0, stop.signal);
  const run: Running = { stop, said: [] };
  running.set(key, run);
  const end = await execute(job, run);
  running.delete(key);
  await send({ kind: "end", runId, epoch, end });
}

async function execute(job: Job, run: Running): Promise<RunEnd> {
  const { signal } = run.stop;
  try {
    return await ("batch" in job ? executeBatch(job, signal) : executeRun(job, run));
  } catch (error) {
    process.stderr.write(`${job.runId}: ${errorText(error)}\n`);
    return endOf(error, signal);
  }
}

async function executeRun(job: RunJob, run: Running): Promise<RunEnd> {
  const { runId, epoch } = job;
  const app = await apps.get(job.bundleDigest, job.bundlePath);
  void send({ kind: "started", runId, epoch });
  const emit = (message: Extract<FromRunner, { kind: "message" }>["message"]): Promise<void> =>
    send({ kind: "message", runId, epoch, message });
  const keep = (piece: string): Promise<void> => send({ kind: "state", runId, epoch, piece });
  bench ??= new Workbench({
    ...ports,
    dir: job.workspaceDir,
    mark: MARK,
    version: AGENT_VERSION,
    stuck,
  });
  const steering = { take: () => run.said.splice(0) };
  return await runJob(job, app, { ...ports, bench, state: questions.for(job), steering, emit, keep }, run.stop.signal);
}

async function executeBatch(job: EvalJob, signal: AbortSignal): Promise<RunEnd> {
  const { runId, epoch } = job;
  const jobs = await (evals ??= openEvalJobs());
  const ports = {
    started: () => void send({ kind: "started", runId, epoch }),
    emit: (event: Extract<FromRunner, { kind: "event" }>["event"]) => void send({ kind: "event", runId, epoch, event }),
    permit: (asked: Extract<FromRunner, { kind: "permit" }>["asked"], until: AbortSignal) =>
      questions.permit(job, asked, until),
  };
  return await jobs.run(job, ports, signal);
}

async function openEvalJobs(): Promise<EvalJobs> {
  const loaded = await import("./eval-job.ts");
  openEvals = new loaded.EvalJobs({
    clock: systemClock,
    env: process.env,
    mark: MARK,
    pid: process.pid,
    stuck,
    log: (text) => process.stderr.write(`${text}\n`),
  });
  return openEvals;
}

process.on("message", (message: unknown) => {
  if (!isToRunner(message)) return;
  switch (message.kind) {
    case "run":
      void start(message.job);
      return;
    case "answer":
      questions.answer(message.question, message.reply);
      return;
    case "cancel":
      running.get(`${message.runId}:${message.epoch}`)?.stop.abort();
      return;
    case "steer":
      running.get(`${message.runId}:${message.epoch}`)?.said.push(message.message);
      return;
    case "ping":
      void send({ kind: "pong" });
  }
});
process.once("disconnect", () => {
  // Commands of tools lead process groups of their own: they end only when their runs are told to.
  for (const { stop } of running.values()) stop.abort();
  const leave = (): never => {
    // What has not ended by itself is ended now: MCP servers lead groups of their own.
    bench?.kill();
    openEvals?.kill();
    process.exit(0);
  };
  systemClock.after(FAREWELL_MS, leave);
  if (running.size > 0) return;
  void Promise.allSettled([bench?.[Symbol.asyncDispose](), openEvals?.[Symbol.asyncDispose]()]).then(leave);
});
// The agent decides when a runner ends; a Ctrl-C in a shared terminal is meant for the agent.
process.on("SIGINT", () => undefined);
void send({ kind: "ready" });
