/**
 * The life of an agent: lock, journal, recovery, link and heartbeats; and its end in the reverse order.
 *
 * A1  One agent per data directory.
 * A2  What was left unfinished by a crash is ended before anything is sent or taken.
 * A3  A clean stop takes no more work, gives runs a few seconds, sends what is left and says goodbye.
 */

import { resolve } from "node:path";

import { connectBus } from "@mesh/bus";
import { errorText, MeshError, takeLock } from "@mesh/kernel";

import { processClock as clock, processEnv } from "./config.ts";
import { type Context, createContext } from "./context.ts";
import { agentLockPath } from "./join/join.ts";
import { readNodeFile } from "./join/node-file.ts";
import { loadOrCreateKey } from "./join/node-key.ts";
import { NodeRemovedError } from "./link/credential-keeper.ts";
import type { AgentLog } from "./log.ts";

/** How to run the agent of a joined data directory. */
export interface NodeAgentOptions {
  readonly dataDir: string;
  readonly log: AgentLog;
  /** Stops the agent cleanly. Without it the agent listens to SIGINT and SIGTERM itself; a second signal stops at once. */
  readonly signal?: AbortSignal;
  /** Wanted parallel runs; wins over what was asked at the join. */
  readonly slots?: number;
  /** Names of further variables that apps may read. */
  readonly allowEnv?: readonly string[];
  /** Called once, when the coordinator knows this device is there. */
  readonly onReady?: (node: { readonly nodeId: string; readonly name: string }) => void;
}

/** Why the agent ended, with the exit code of the process. */
export interface AgentExit {
  /** 0 clean stop; 77 removed from the mesh; 78 must be updated; 130 stopped at once. */
  readonly code: number;
  /** One line for people. */
  readonly reason: string;
}

const FINISH_MS = 5_000;
const FLUSH_MS = 5_000;
const FLUSH_LOOK_MS = 50;

interface Stops {
  /** Why the agent must not go on. */
  failure: MeshError | undefined;
  /** Stop cleanly. */
  readonly soon: AbortController;
  /** Stop at once. */
  readonly now: AbortController;
  readonly release: () => void;
}

/** Runs until stopped or removed. */
export async function runAgent(options: NodeAgentOptions): Promise<AgentExit> {
  const dataDir = resolve(options.dataDir);
  const record = readNodeFile(dataDir);
  if (record === undefined) {
    throw new MeshError(
      "failed_precondition",
      `${dataDir} has not joined a mesh; join with: yao node join URL --token TOKEN`,
    );
  }
  const lock = takeLock(agentLockPath(dataDir), "the yao node agent");
  const stops = listenToStops(options.signal);
  try {
    let isReady = false;
    const context = await createContext({
      dataDir,
      record,
      key: loadOrCreateKey(dataDir),
      slots: options.slots,
      clock,
      log: options.log,
      env: processEnv(),
      allowEnv: options.allowEnv ?? [],
      connect: connectBus,
      greeted: ({ node_id: nodeId, name }) => {
        if (isReady) return;
        isReady = true;
        options.log.info({ nodeId, name }, "node is ready");
        options.onReady?.({ nodeId, name });
      },
      ended: (error) => fail(stops, error),
    });
    await live(context, stops, options.log);
    return exitOf(stops.failure, stops.now.signal.aborted);
  } finally {
    stops.release();
    lock.release();
  }
}

function fail(stops: Stops, error: unknown): void {
  stops.failure ??= MeshError.from(error);
  // Nobody would listen any more.
  if (stops.failure instanceof NodeRemovedError) stops.now.abort();
  stops.soon.abort();
}

async function live(context: Context, stops: Stops, log: AgentLog): Promise<void> {
  const { executor, heartbeats, link, keeper, files } = context;
  executor.recover();
  heartbeats.start();
  // The link outlives the wish to stop: what is left has to be sent over it.
  const linkStop = new AbortController();
  const linked = link.run(linkStop.signal).catch((error: unknown) => fail(stops, error));
  const filesKept = files.run(stops.soon.signal).catch((error: unknown) => fail(stops, error));
  const kept = keeper.run(stops.soon.signal).catch((error: unknown) => fail(stops, error));
  await new Promise<void>((resolve) => {
    stops.soon.signal.addEventListener("abort", () => resolve(), { once: true });
    if (stops.soon.signal.aborted) resolve();
  });
  log.info({ runs: executor.slotsUsed }, "stopping");
  await executor.stop(FINISH_MS, stops.now.signal);
  await flush(context, stops.now.signal);
  await heartbeats.stop();
  linkStop.abort();
  await Promise.all([linked, kept, filesKept]);
  context.sender.close();
  await context.journal.close();
}

// Until the coordinator has everything, for a few seconds at most; what is left waits in the journal for the next start.
async function flush(context: Context, now: AbortSignal): Promise<void> {
  const endMs = clock.monotonic() + FLUSH_MS;
  while (context.journal.runs().length > 0 && clock.monotonic() < endMs && !now.aborted) {
    await clock.sleep(FLUSH_LOOK_MS, now);
  }
}

function exitOf(failure: MeshError | undefined, isForced: boolean): AgentExit {
  if (failure instanceof NodeRemovedError) return { code: 77, reason: failure.message };
  if (failure?.code === "unimplemented") return { code: 78, reason: failure.message };
  if (failure !== undefined) return { code: 1, reason: errorText(failure) };
  return isForced ? { code: 130, reason: "stopped at once" } : { code: 0, reason: "stopped" };
}

function listenToStops(signal: AbortSignal | undefined): Stops {
  const soon = new AbortController();
  const now = new AbortController();
  if (signal !== undefined) {
    const stop = (): void => soon.abort();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    return { failure: undefined, soon, now, release: () => signal.removeEventListener("abort", stop) };
  }
  const onSignal = (): void => {
    if (soon.signal.aborted) now.abort();
    soon.abort();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return {
    failure: undefined,
    soon,
    now,
    release: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal),
  };
}
