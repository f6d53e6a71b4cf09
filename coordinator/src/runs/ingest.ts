/**
 * Takes events from nodes into the database.
 *
 * N1  An event is stored exactly once and in the node's order, however often it is delivered: only the next `n` of the
 *     current (run, epoch) is taken, everything else is either old (dropped) or early (asked for again).
 * N2  `seq` is dense per run and grows in the order of commits: it is given under the lock of the run's row.
 * N3  Events of a stale epoch, of a foreign node and of a run that has ended are refused.
 * N4  The state that an event stands for is stored in the same transaction as the event.
 * N5  A stream message is acknowledged after the commit; the node forgets an event only when told it was committed.
 * N6  A run whose events cannot be stored is set aside and tried again; it holds up no other run.
 * N7  A transaction takes a bounded number of bytes, so that a backlog of any size is worked off.
 */

import { type Bus, INGEST_DURABLE, nodeOfSubject, STREAM, subjects, type StreamMessage } from "@mesh/bus";
import { errorText, isId, retryable, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Command, EventBatch, type RunProgress } from "@mesh/proto";
import { databaseError, type Store, type Tx } from "@mesh/store";

import { appendNodeEvents, type IngestRow, lockRuns } from "./ingest-store.ts";
import { foldBatch, type IncomingRun, type RunChange } from "./run-fold.ts";
import { storableEvent } from "./storable.ts";

const MAX_MESSAGES = 500;
const MAX_BYTES = 8 * 1024 * 1024;
const SET_ASIDE_MS = 15_000;

/** What ingest uses. */
export interface IngestDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly log: Logger;
  /** Called after commit with the ids of runs whose log grew. */
  readonly committed: (runIds: readonly string[]) => void;
  /** Called after commit when runs ended or were handed back, so that slots are free. */
  readonly slotsFreed: () => void;
  readonly onMissing: () => Promise<void>;
  readonly counted: (events: number) => void;
}

/** The ingest loop. One per replica; the stream shares messages between them. */
export function createIngest(deps: IngestDeps): Service {
  const consumer = deps.bus.consumer(
    { stream: STREAM.events, durable: INGEST_DURABLE },
    async (messages) => {
      try {
        for (const part of inParts(messages)) await ingestOrIsolate(deps, part);
      } catch (error) {
        deps.log.warn({ err: error, messages: messages.length }, "events not stored; delivered again");
        throw error;
      }
    },
    { maxBatch: MAX_MESSAGES, onMissing: deps.onMissing },
  );
  return { name: "ingest", run: (signal) => consumer.run(signal) };
}

/** Cuts a delivery where it grows too large for one transaction. */
function inParts(messages: readonly StreamMessage[]): StreamMessage[][] {
  const parts: StreamMessage[][] = [];
  let bytes = Infinity;
  for (const message of messages) {
    if (bytes + message.data.length > MAX_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(message);
    bytes += message.data.length;
  }
  return parts;
}

// When it is not the database that fails but what it was given, the runs are told apart.
async function ingestOrIsolate(deps: IngestDeps, messages: readonly StreamMessage[]): Promise<void> {
  try {
    await ingest(deps, messages);
    return;
  } catch (error) {
    const { code } = databaseError(error);
    if (retryable(code) || code === "resource_exhausted") throw error;
    deps.log.warn({ err: error, messages: messages.length }, "events refused; each run is tried on its own");
  }
  const byRun = new Map<string, StreamMessage[]>();
  for (const message of messages) byRun.set(message.subject, [...(byRun.get(message.subject) ?? []), message]);
  for (const [subject, own] of byRun) {
    try {
      await ingest(deps, own);
    } catch (error) {
      deps.log.error({ err: error, subject }, "events of a run cannot be stored; they are tried again");
      for (const message of own) message.nak(SET_ASIDE_MS);
    }
  }
}

async function ingest(deps: IngestDeps, messages: readonly StreamMessage[]): Promise<void> {
  const incoming = collect(deps.log, messages);
  const changes = await deps.store.sql.begin<RunChange[]>((tx) => store(tx, incoming));
  for (const message of messages) message.ack();
  const grown = changes.filter((change) => change.hasGrown);
  deps.committed(grown.map((change) => change.runId));
  deps.counted(grown.reduce((sum, change) => sum + change.events.length, 0));
  if (grown.some((change) => change.freesSlot)) deps.slotsFreed();
  tellNodes(deps, changes);
}

async function store(tx: Tx, incoming: ReadonlyMap<string, IncomingRun>): Promise<RunChange[]> {
  const rows = await lockRuns(tx, [...incoming.keys()]);
  const changes = rows.flatMap((row: IngestRow) => {
    const run = incoming.get(row.id);
    return run === undefined ? [] : [{ ...foldBatch(row, run), lastSeq: row.last_seq }];
  });
  await appendNodeEvents(tx, changes);
  return changes;
}

// Deliveries may be cut anywhere: events of one run are merged by (node, epoch, n) before they meet the database.
function collect(log: Logger, messages: readonly StreamMessage[]): Map<string, IncomingRun> {
  const runs = new Map<string, IncomingRun>();
  for (const message of messages) {
    try {
      const node = nodeOfSubject(message.subject);
      const batch = EventBatch.decode(message.data);
      if (!isId("run", batch.run_id) || batch.events.length === 0) continue;
      const run = runs.get(batch.run_id) ?? { parts: [] };
      run.parts.push({ node, epoch: batch.epoch, events: batch.events.map(storableEvent) });
      runs.set(batch.run_id, run);
    } catch (error) {
      log.warn({ reason: errorText(error), subject: message.subject }, "unreadable event batch dropped");
    }
  }
  return runs;
}

function tellNodes(deps: IngestDeps, changes: readonly RunChange[]): void {
  const acks = new Map<string, RunProgress[]>();
  for (const change of changes) {
    if (change.resendFrom !== undefined)
      send(deps, change.node, {
        $case: "resend",
        value: { run_id: change.runId, epoch: change.epoch, from_n: change.resendFrom },
      });
    // Only ends are pressing: they let the node forget the run. Everything else rides on the next heartbeat.
    if (change.ended)
      acks.set(change.node, [
        ...(acks.get(change.node) ?? []),
        { run_id: change.runId, epoch: change.epoch, last_n: change.committedN },
      ]);
  }
  for (const [node, runs] of acks) send(deps, node, { $case: "ack", value: { runs } });
}

function send(deps: IngestDeps, node: string, command: NonNullable<Command["command"]>): void {
  deps.bus.publish(subjects.command(node), Command.encode({ command }).finish());
}
