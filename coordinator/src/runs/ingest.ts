/**
 * Takes events from nodes into the database.
 *
 * N1  An event is stored exactly once and in the node's order, however often it is delivered: only the next `n` of the
 *     current (run, epoch) is taken, everything else is either old (dropped) or early (asked for again).
 * N2  `seq` is dense per run and grows in the order of commits: it is given under the lock of the run's row.
 * N3  Events of a stale epoch, of a foreign node and of a run that has ended are refused.
 * N4  The state that an event stands for is stored in the same transaction as the event.
 * N5  A stream message is acknowledged after the commit; the node forgets an event only when told it was committed.
 */

import { type Bus, INGEST_DURABLE, nodeOfSubject, STREAM, subjects, type StreamMessage } from "@mesh/bus";
import { errorText, isId, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Command, EventBatch, type RunProgress } from "@mesh/proto";
import type { Store, Tx } from "@mesh/store";

import { appendNodeEvents, type IngestRow, lockRuns } from "./ingest-store.ts";
import { foldBatch, type IncomingRun, type RunChange } from "./run-fold.ts";
import { storableEvent } from "./storable.ts";

const MAX_MESSAGES = 500;

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
        await ingest(deps, messages);
      } catch (error) {
        deps.log.warn({ err: error, messages: messages.length }, "events not stored; delivered again");
        throw error;
      }
    },
    { maxBatch: MAX_MESSAGES, onMissing: deps.onMissing },
  );
  return { name: "ingest", run: (signal) => consumer.run(signal) };
}

async function ingest(deps: IngestDeps, messages: readonly StreamMessage[]): Promise<void> {
  const incoming = collect(deps.log, messages);
  const changes = await deps.store.sql.begin<RunChange[]>((tx) => store(tx, incoming));
  for (const message of messages) message.ack();
  const grown = changes.filter((change) => change.events.length > 0);
  deps.committed(grown.map((change) => change.runId));
  deps.counted(grown.reduce((sum, change) => sum + change.events.length, 0));
  if (grown.some((change) => change.freesSlot)) deps.slotsFreed();
  tellNodes(deps, changes);
}

async function store(tx: Tx, incoming: ReadonlyMap<string, IncomingRun>): Promise<RunChange[]> {
  const rows = await lockRuns(tx, [...incoming.keys()]);
  const changes = rows.flatMap((row: IngestRow) => {
    const run = incoming.get(row.id);
    return run === undefined ? [] : [foldBatch(row, run)];
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
