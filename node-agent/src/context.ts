/** Builds the parts of an agent and ties them together; the only place that knows all of them. */

import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";
import {
  BundleChunk,
  BundleChunkRequest,
  type Hello,
  type HelloAnswer,
  type HeartbeatAnswer,
  SecretsAnswer,
  SecretsRequest,
} from "@mesh/proto";

import { BundleCache } from "./bundle/bundle-cache.ts";
import { allowedEnv } from "./executor/allowed-env.ts";
import { Executor } from "./executor/executor.ts";
import { Heartbeats } from "./heartbeat/heartbeats.ts";
import { deviceFacts } from "./inventory/inventory.ts";
import { journalPath } from "./join/join.ts";
import type { NodeRecord } from "./join/node-file.ts";
import type { NodeKey } from "./join/node-key.ts";
import { Journal } from "./journal/journal.ts";
import type { RunLog } from "./journal/run-log.ts";
import { applyLease, type CommandTargets, executeCommand } from "./link/command.ts";
import { CredentialKeeper, NodeRemovedError } from "./link/credential-keeper.ts";
import { type Connect, Link, serversOf } from "./link/link.ts";
import type { AgentLog } from "./log.ts";
import { RunnerPool } from "./runner/runner-pool.ts";
import { Sender } from "./sender/sender.ts";
import { AGENT_VERSION, PROTOCOL } from "./version.ts";

/** What an agent is built from. */
export interface ContextInput {
  readonly dataDir: string;
  readonly record: NodeRecord;
  readonly key: NodeKey;
  readonly slots: number | undefined;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly allowEnv: readonly string[];
  readonly connect: Connect;
  /** The coordinator knows this device is there. */
  readonly greeted: (answer: HelloAnswer) => void;
  /** The agent must not go on. */
  readonly ended: (error: MeshError) => void;
}

/** The parts of an agent. */
export interface Context {
  readonly journal: Journal;
  readonly executor: Executor;
  readonly sender: Sender;
  readonly heartbeats: Heartbeats;
  readonly link: Link;
  readonly keeper: CredentialKeeper;
}

// Until the coordinator says better.
const FIRST_SLOTS = 4;
const FIRST_INTERVAL_MS = 5_000;
const MIN_BATCH = 4;

/** Opens the journal and builds the rest; nothing runs yet. */
export async function createContext(input: ContextInput): Promise<Context> {
  const { clock, log, dataDir, key } = input;
  const bootId = randomUUID();
  const facts = deviceFacts(input.env["PATH"] ?? "");
  const wantedSlots = input.slots ?? input.record.slots;
  const journal = await Journal.open({ dir: journalPath(dataDir), clock, log });
  const runners = new RunnerPool({ clock, log, env: input.env });
  const bundles = new BundleCache({
    dir: join(dataDir, "bundles"),
    clock,
    fetch: async (digest, offset, signal) =>
      BundleChunk.decode(await link.ask("bundle", BundleChunkRequest.encode({ digest, offset }).finish(), signal)),
  });
  const executor = new Executor(
    {
      journal,
      runners,
      clock,
      log,
      env: allowedEnv(input.env, input.allowEnv),
      bundlePath: (digest, signal) => bundles.path(digest, signal),
      secrets: (run, signal) => askSecrets(link, run, signal),
      changed: () => heartbeats.changed(),
    },
    wantedSlots === 0 ? FIRST_SLOTS : wantedSlots,
  );
  const sender = new Sender({ journal, clock, log, digest: input.record.digest });
  const keeper = new CredentialKeeper(input.record, {
    dataDir,
    key,
    clock,
    log,
    renewed: (record) => heartbeats.renewed(record.jwt),
  });
  const targets = commandTargets({ journal, executor, sender, beat: () => heartbeats.beat() });
  const progress = (): Hello["runs"] =>
    journal.runs().map((run) => ({ run_id: run.runId, epoch: run.epoch, last_n: run.releasedN }));
  const refusedAs = (refused: string): void => input.ended(refusal(refused));
  const heartbeats = new Heartbeats({
    clock,
    log,
    start: () => ({
      servers: serversOf(keeper.record),
      pin: keeper.record.pin,
      digest: keeper.record.digest,
      jwt: keeper.record.jwt,
      seed: key.seed,
      bootId,
      version: AGENT_VERSION,
      protocol: PROTOCOL,
      intervalMs: FIRST_INTERVAL_MS,
    }),
    state: () => ({
      slots: executor.slots,
      slots_used: executor.slotsUsed,
      runs: progress(),
      journal_unacked_bytes: journal.unackedBytes,
    }),
    answered: (answer: HeartbeatAnswer) => {
      if (answer.refused !== "") return refusedAs(answer.refused);
      executor.setPolicy({ slots: answer.slots, isDraining: answer.draining });
      for (const lease of answer.runs) applyLease(targets, lease);
    },
    refused: () => keeper.refused(keeper.record.jwt),
  });
  const link = new Link({
    clock,
    log,
    record: () => keeper.record,
    seed: key.seed,
    connect: input.connect,
    hello: () => ({
      boot_id: bootId,
      protocol: PROTOCOL,
      version: AGENT_VERSION,
      facts_json: JSON.stringify(facts),
      runs: progress(),
      slots: wantedSlots,
    }),
    greeted: (answer) => {
      if (answer.refused !== "") return refusedAs(answer.refused);
      executor.setPolicy({ slots: answer.slots, isDraining: answer.draining });
      for (const lease of answer.runs) applyLease(targets, lease);
      input.greeted(answer);
    },
    command: (data) => executeCommand(targets, data),
    work: (messages) => executor.accept(messages),
    maxBatch: () => Math.max(MIN_BATCH, executor.slots),
    flow: (bus) => sender.connected(bus),
    refused: (jwt) => keeper.refused(jwt),
  });
  return { journal, executor, sender, heartbeats, link, keeper };
}

function commandTargets(
  parts: Pick<Context, "journal" | "executor" | "sender"> & { readonly beat: () => void },
): CommandTargets {
  const { journal, executor, sender, beat } = parts;
  return {
    cancel: (run, why) => executor.cancel(run, why),
    drop: (run) => executor.drop(run),
    committed: (key, n) => {
      const run = journal.run(key);
      if (run !== undefined) journal.committed(run, n);
    },
    resend: (run, fromN) => sender.resend(run, fromN),
    setDraining: (isDraining) => executor.setPolicy({ slots: executor.slots, isDraining }),
    handBack: () => executor.handBack(),
    beat,
  };
}

async function askSecrets(link: Link, run: RunLog, signal: AbortSignal): Promise<SecretsAnswer> {
  const request = SecretsRequest.encode({ run_id: run.runId, epoch: run.epoch }).finish();
  return SecretsAnswer.decode(await link.ask("secrets", request, signal));
}

function refusal(refused: string): MeshError {
  if (refused === "protocol") {
    return new MeshError(
      "unimplemented",
      "the coordinator does not understand this agent any more; update yao on this device",
    );
  }
  return new NodeRemovedError(
    "permission_denied",
    "this device was removed from the mesh; to use it again: yao node leave, then join with a new token",
  );
}
