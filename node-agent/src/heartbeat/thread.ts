/**
 * The heartbeat thread: its own event loop and its own connection, so that a busy main thread never looks like a dead
 * device. It knows nothing but the state it was last told.
 */

import { freemem, loadavg } from "node:os";
import { parentPort, workerData } from "node:worker_threads";

import { type Bus, connectBus, inboxPrefix, subjects } from "@mesh/bus";
import { Backoff, errorText, MeshError } from "@mesh/kernel";
import { Heartbeat, HeartbeatAnswer } from "@mesh/proto/wire";

import { processClock as clock, processRandom as random } from "../config.ts";
import {
  type FromHeartbeat,
  type HeartbeatStart,
  type HeartbeatState,
  processMs,
  type ToHeartbeat,
} from "./protocol.ts";

const ANSWER_MS = 3_000;
const GOODBYE_MS = 1_500;
const JITTER = 0.2;

const start = workerData as HeartbeatStart;
const turnedAt = new BigInt64Array(start.turnedAt);
const startedMs = processMs();
const ending = new AbortController();
let state: HeartbeatState = { slots: 0, slots_used: 0, runs: [], journal_unacked_bytes: 0 };
let { jwt, intervalMs } = start;
// Older beats than the newest known one are not recorded: a thread that replaces another one counts on above it.
let sequence = startedMs;
let wake = new AbortController();

function post(message: FromHeartbeat): void {
  parentPort?.postMessage(message);
}

function heartbeat(goodbye: boolean): Heartbeat {
  sequence += 1;
  const now = processMs();
  return {
    boot_id: start.bootId,
    hb_seq: sequence,
    protocol: start.protocol,
    version: start.version,
    uptime_ms: now - startedMs,
    ...state,
    cpu: loadavg()[0] ?? 0,
    memory_free_bytes: freemem(),
    // Time since the main thread last turned.
    loop_lag_ms: Math.max(0, now - Number(Atomics.load(turnedAt, 0))),
    goodbye,
  };
}

async function beat(to: Bus, options: { readonly goodbye: boolean; readonly timeoutMs: number }): Promise<void> {
  const data = Heartbeat.encode(heartbeat(options.goodbye)).finish();
  try {
    const { timeoutMs } = options;
    const answer = HeartbeatAnswer.decode(await to.request(subjects.heartbeat(start.digest), data, { timeoutMs }));
    if (answer.interval_ms > 0) intervalMs = answer.interval_ms;
    post({ kind: "answer", answer });
  } catch (error) {
    post({ kind: "missed", reason: errorText(error) });
  }
}

async function connect(): Promise<Bus> {
  return await connectBus({
    servers: start.servers,
    credentials: { jwt: () => jwt, seed: start.seed },
    name: `${start.digest} heartbeat`,
    inboxPrefix: inboxPrefix(start.digest),
    clock,
    ...(start.pin !== undefined && { tls: { spkiPin: start.pin } }),
  });
}

// Beats until the connection is refused for good or the thread is told to end.
async function beatOver(connection: Bus): Promise<void> {
  while (!ending.signal.aborted && connection.status.kind !== "closed") {
    wake = new AbortController();
    if (connection.status.kind === "connected") await beat(connection, { goodbye: false, timeoutMs: ANSWER_MS });
    const pauseMs = intervalMs * (1 - JITTER + 2 * JITTER * random());
    await clock.sleep(pauseMs, AbortSignal.any([wake.signal, ending.signal]));
  }
}

async function run(): Promise<void> {
  const backoff = new Backoff(clock, { firstMs: 500, maxMs: 15_000 });
  while (!ending.signal.aborted) {
    const shown = jwt;
    try {
      const bus = await connect();
      backoff.succeeded();
      const watch = bus.onStatus(() => wake.abort());
      await beatOver(bus);
      watch.stop();
      if (ending.signal.aborted) await beat(bus, { goodbye: true, timeoutMs: GOODBYE_MS });
      else post({ kind: "refused", jwt: shown });
      await bus.close();
    } catch (error) {
      if (MeshError.from(error).code === "unauthenticated") post({ kind: "refused", jwt: shown });
      else post({ kind: "missed", reason: errorText(error) });
    }
    wake = new AbortController();
    if (!ending.signal.aborted) await clock.sleep(backoff.nextDelayMs(), AbortSignal.any([wake.signal, ending.signal]));
  }
}

parentPort?.on("message", (message: ToHeartbeat) => {
  switch (message.kind) {
    case "state":
      ({ state } = message);
      return;
    case "jwt":
      ({ jwt } = message);
      wake.abort();
      return;
    case "beat":
      wake.abort();
      return;
    case "goodbye":
      ending.abort();
  }
});
await run();
parentPort?.close();
