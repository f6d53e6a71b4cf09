/** Builds the parts of an agent and ties them together; the only place that knows all of them. */

import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";
import type { Resume } from "@mesh/runtime";
import {
  BundleChunk,
  BundleChunkRequest,
  EvalBatchPart,
  EvalBatchRequest,
  type HelloAnswer,
  type RunLease,
  type RunProgress,
  SecretsAnswer,
  SecretsRequest,
  StatePart,
  StateRequest,
} from "@mesh/proto/wire";

import { BundleCache } from "./bundle/bundle-cache.ts";
import { askState } from "./executor/ask-state.ts";
import { allowedEnv } from "./executor/allowed-env.ts";
import { askPermit, fetchEvalBatch } from "./executor/eval-batch.ts";
import { Executor } from "./executor/executor.ts";
import { fetchSavedState } from "./executor/saved-state.ts";
import { createFiles, type NodeFiles } from "./files/node-files.ts";
import { Heartbeats } from "./heartbeat/heartbeats.ts";
import { deviceFacts } from "./inventory/inventory.ts";
import { journalPath } from "./join/join.ts";
import type { NodeRecord } from "./join/node-file.ts";
import type { NodeKey } from "./join/node-key.ts";
import { Journal } from "./journal/journal.ts";
import type { RunLog } from "./journal/run-log.ts";
import { applyLease, type CommandTargets, executeCommand } from "./link/command.ts";
import { Certainty } from "./link/certainty.ts";
import { CredentialKeeper, NodeRemovedError } from "./link/credential-keeper.ts";
import { type Connect, Link, serversOf } from "./link/link.ts";
import type { AgentLog } from "./log.ts";
import { RunnerPool } from "./runner/runner-pool.ts";
import { Sender } from "./sender/sender.ts";
import { AGENT_VERSION, PROTOCOL } from "./version.ts";
import { evalScratchPath, evalsPath, workspacePath } from "./workspace/workspace-path.ts";

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
  readonly files: NodeFiles;
}

/** What the coordinator says about this node and its runs, in whatever answer. */
interface Policy {
  readonly refused: string;
  readonly slots: number;
  readonly draining: boolean;
  readonly runs: readonly RunLease[];
}

// Parts that talk to each other are made one after the other; until then nobody calls them.
interface Later {
  parts: Context | undefined;
}

// Until the coordinator says better.
const FIRST_SLOTS = 4;
const FIRST_INTERVAL_MS = 5_000;
const MIN_BATCH = 4;

/** Opens the journal and builds the rest; nothing runs yet. */
export async function createContext(input: ContextInput): Promise<Context> {
  const { clock, log, dataDir, key, record } = input;
  const later: Later = { parts: undefined };
  const bootId = randomUUID();
  const slots = input.slots ?? record.slots;
  // What runners of an agent that was killed have left.
  await rm(evalsPath(dataDir), { recursive: true, force: true });
  const journal = await Journal.open({ dir: journalPath(dataDir), clock, log });
  const certainty = new Certainty(clock);
  const ask = (method: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> =>
    started(later).link.ask(method, data, signal);
  const files = createFiles({ clock, log, dataDir, ask });
  const executor = createExecutor(input, { journal, later, slots, certainty, ask, files });
  const sender = new Sender({ journal, clock, log, digest: record.digest });
  const renewed = (next: NodeRecord): void => later.parts?.heartbeats.renewed(next.jwt);
  const keeper = new CredentialKeeper(record, { dataDir, key, clock, log, renewed });
  const targets = commandTargets({ journal, executor, sender, files, beat: () => later.parts?.heartbeats.beat() });
  const obey = (policy: Policy): boolean => {
    if (policy.refused !== "") {
      input.ended(refusal(policy.refused));
      return false;
    }
    executor.setPolicy({ slots: policy.slots, isDraining: policy.draining });
    for (const lease of policy.runs) applyLease(targets, lease);
    return true;
  };
  const node = { bootId, slots, journal, executor, keeper, obey, certainty };
  const heartbeats = createHeartbeats(input, node);
  const link = createLink(input, { ...node, sender, files, targets });
  later.parts = { journal, executor, sender, heartbeats, link, keeper, files };
  return later.parts;
}

interface NodeParts extends Pick<Context, "journal" | "executor" | "keeper"> {
  readonly bootId: string;
  readonly slots: number;
  readonly certainty: Certainty;
  readonly obey: (policy: Policy) => boolean;
}

function createExecutor(
  input: ContextInput,
  parts: Pick<NodeParts, "journal" | "slots" | "certainty"> & {
    readonly later: Later;
    readonly ask: Link["ask"];
    readonly files: NodeFiles;
  },
): Executor {
  const { clock, log, env, allowEnv, dataDir } = input;
  const { ask, files } = parts;
  const bundles = new BundleCache({
    dir: join(dataDir, "bundles"),
    clock,
    fetch: async (digest, offset, signal) =>
      BundleChunk.decode(await ask("bundle", BundleChunkRequest.encode({ digest, offset }).finish(), signal)),
  });
  const secrets = async (run: RunLog, signal: AbortSignal): Promise<SecretsAnswer> => {
    const request = SecretsRequest.encode({ run_id: run.runId, epoch: run.epoch }).finish();
    return SecretsAnswer.decode(await ask("secrets", request, signal));
  };
  const savedState = ({ runId: run_id, epoch }: RunLog, signal: AbortSignal): Promise<Resume> =>
    fetchSavedState(async (part) =>
      StatePart.decode(await ask("state", StateRequest.encode({ run_id, epoch, part }).finish(), signal)),
    );
  const evalBatch = ({ runId: run_id, epoch }: RunLog, signal: AbortSignal): Promise<string> =>
    fetchEvalBatch(async (part) =>
      EvalBatchPart.decode(await ask("eval_batch", EvalBatchRequest.encode({ run_id, epoch, part }).finish(), signal)),
    );
  return new Executor(
    {
      journal: parts.journal,
      runners: new RunnerPool({ clock, log, env }),
      clock,
      log,
      env: allowedEnv(env, allowEnv),
      bundlePath: (digest, signal) => bundles.path(digest, signal),
      secrets,
      savedState,
      evalBatch,
      askPermit: (run, question, signal) =>
        askPermit(run, question, { link: started(parts.later).link, clock }, signal),
      askState: (run, question, signal) => askState(run, question, started(parts.later).link, signal),
      workspaceDir: (id) => workspacePath(dataDir, id),
      scratchDir: (id) => evalScratchPath(dataDir, id),
      isCertain: () => parts.certainty.isCertain,
      changed: () => parts.later.parts?.heartbeats.changed(),
      began: files.runBegan,
      ended: files.runEnded,
    },
    parts.slots === 0 ? FIRST_SLOTS : parts.slots,
  );
}

function started({ parts }: Later): Context {
  if (parts === undefined) throw new MeshError("unavailable", "the agent is starting");
  return parts;
}

function createHeartbeats(input: ContextInput, node: NodeParts): Heartbeats {
  const { journal, executor, keeper } = node;
  return new Heartbeats({
    clock: input.clock,
    log: input.log,
    start: () => ({
      servers: serversOf(keeper.record),
      pin: keeper.record.pin,
      digest: keeper.record.digest,
      jwt: keeper.record.jwt,
      seed: input.key.seed,
      bootId: node.bootId,
      version: AGENT_VERSION,
      protocol: PROTOCOL,
      intervalMs: FIRST_INTERVAL_MS,
    }),
    state: () => ({
      slots: executor.slots,
      slots_used: executor.slotsUsed,
      runs: progressOf(journal),
      journal_unacked_bytes: journal.unackedBytes,
    }),
    answered: (answer) => {
      node.certainty.answered();
      node.obey(answer);
    },
    refused: (jwt) => keeper.refused(jwt),
  });
}

function createLink(
  input: ContextInput,
  node: NodeParts & { readonly sender: Sender; readonly files: NodeFiles; readonly targets: CommandTargets },
): Link {
  const { keeper, executor, sender, files } = node;
  const facts_json = JSON.stringify(deviceFacts(input.env["PATH"] ?? ""));
  return new Link({
    clock: input.clock,
    log: input.log,
    record: () => keeper.record,
    seed: input.key.seed,
    connect: input.connect,
    hello: () => ({
      boot_id: node.bootId,
      protocol: PROTOCOL,
      version: AGENT_VERSION,
      facts_json,
      runs: progressOf(node.journal),
      slots: node.slots,
    }),
    greeted: (answer) => {
      node.certainty.connected();
      if (node.obey(answer)) input.greeted(answer);
    },
    command: (data) => executeCommand(node.targets, data),
    work: (messages) => executor.accept(messages),
    maxBatch: () => Math.max(MIN_BATCH, executor.slots),
    flow: (bus) => {
      sender.connected(bus);
      files.connected(bus !== undefined);
    },
    refused: (jwt) => keeper.refused(jwt),
  });
}

function progressOf(journal: Journal): RunProgress[] {
  return journal.runs().map((run) => ({ run_id: run.runId, epoch: run.epoch, last_n: run.releasedN }));
}

function commandTargets(parts: {
  readonly journal: Journal;
  readonly executor: Executor;
  readonly sender: Sender;
  readonly files: NodeFiles;
  readonly beat: () => void;
}): CommandTargets {
  const { journal, executor, sender, files, beat } = parts;
  return {
    cancel: (run, why) => executor.cancel(run, why),
    steer: (run, message) => executor.steer(run, message),
    drop: (run) => executor.drop(run),
    committed: (key, n, hasEnded) => {
      const run = journal.run(key);
      if (run !== undefined) journal.committed(run, n, hasEnded);
    },
    resend: (run, fromN) => sender.resend(run, fromN),
    setDraining: (isDraining) => executor.setPolicy({ slots: executor.slots, isDraining }),
    handBack: () => executor.handBack(),
    beat,
    file: files.execute,
  };
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
