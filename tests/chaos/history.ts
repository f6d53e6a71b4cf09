/**
 * What was observed while processes died, and the promises it is judged by. Pure.
 *
 * I1  What a device journaled is stored exactly once and in its order; no number of a counting run is lost or doubled.
 * I2  Once a run has a newer epoch, nothing of an older one is appended.
 * I3  A run that has ended has one terminal event, the last one, and its state never changes again.
 * I4  A reader that resumes with its cursor sees every seq once and in order.
 * I5  A run that has not ended has a deadline that somebody watches, and everything has ended after the quiet time.
 * I6  After the quiet time every device is ready, and a queued run says why it waits.
 * I7  A removed device gets nothing accepted one second after its removal.
 * I8  A cancelled run does nothing more once the cancel had time to arrive.
 * I9  A device never holds more runs than it has slots.
 * I10 One idempotency key makes one run, however often the request was repeated.
 * I11 A run ends badly only with its device, its agent or its runner: one that comes back ends what it held itself, and
 *     no fault of the others is the run's.
 */

/** The final row of a run, and what was asked for. */
export interface RunRow {
  readonly runId: string;
  readonly key: string;
  readonly state: string;
  readonly reason: string;
  readonly epoch: number;
  readonly lastSeq: number;
  readonly nodeId: string | undefined;
  readonly output: string;
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** The run counts from 1 to this number. */
  readonly count: number;
}

/** One row of `run_events`. */
export interface EventRow {
  readonly runId: string;
  readonly seq: number;
  readonly epoch: number;
  /** The device's number; undefined for events of the coordinator. */
  readonly n: number | undefined;
  readonly kind: string;
  /** Device time for its events. */
  readonly atMs: number;
  /** Text that this event adds to the run's message. */
  readonly text?: string;
  /** State in a terminal event; epoch in a placement. */
  readonly state?: string;
}

/** An event found in the journal of a device whose agent was dead at that moment. */
export interface JournaledEvent {
  readonly node: string;
  readonly runId: string;
  readonly epoch: number;
  readonly n: number;
}

/** A run's row changed to this, seen by sampling the database. */
export interface Transition {
  readonly atMs: number;
  readonly runId: string;
  readonly state: string;
  readonly epoch: number;
  readonly nodeId: string | undefined;
  readonly committedN: number;
  /** Whether the row has a deadline for its state. */
  readonly armed: boolean;
}

/** Everything that was seen in one scenario. All times are milliseconds of one clock. */
export interface History {
  readonly runs: readonly RunRow[];
  readonly events: readonly EventRow[];
  readonly journals: readonly JournaledEvent[];
  readonly transitions: readonly Transition[];
  /** Largest number of runs a device held in any one snapshot of the database. */
  readonly held: readonly { readonly nodeId: string; readonly runs: number; readonly slots: number }[];
  /** Seqs in the order in which one reader saw them, over all its connections. */
  readonly readers: readonly { readonly runId: string; readonly seqs: readonly number[]; readonly ended: boolean }[];
  /** Runs that answered one idempotency key. */
  readonly creations: readonly { readonly key: string; readonly runIds: readonly string[] }[];
  /** Cancels the API acknowledged; `boundMs` is how long the fault of the scenario may delay them. */
  readonly cancels: readonly { readonly runId: string; readonly atMs: number; readonly boundMs: number }[];
  readonly nodes: readonly { readonly id: string; readonly name: string; readonly status: string }[];
  readonly removals: readonly { readonly nodeId: string; readonly atMs: number }[];
}

/** A broken promise. */
export interface Violation {
  readonly invariant: keyof typeof INVARIANTS;
  readonly text: string;
}

type Check = (history: History) => readonly string[];

const TERMINAL: readonly string[] = ["succeeded", "failed", "cancelled", "lost"];
const FINISHED = "run.finished";
const REMOVAL_MS = 1000;
const EXPLAINED = new Set(["node_restarted", "runner_crashed"]);

/** The checks by name. */
export const INVARIANTS = {
  I1: (history) => [...nodeEventsOnce(history), ...journalsStored(history), ...numbersOnce(history)],
  I2: epochsFence,
  I3: (history) => [...oneTerminalEvent(history), ...terminalIsFinal(history)],
  I4: (history) => [...seqsDense(history), ...readersComplete(history)],
  I5: nothingStuck,
  I6: healed,
  I7: removedIsSilent,
  I8: cancelledStops,
  I9: ({ held }) =>
    held.flatMap(({ nodeId, runs, slots }) => (runs > slots ? [`${nodeId} held ${runs} runs in ${slots} slots`] : [])),
  I10: keysMakeOneRun,
  I11: endsExplained,
} as const satisfies Record<string, Check>;

/** All broken promises of a history. */
export function checkHistory(history: History): readonly Violation[] {
  return (Object.keys(INVARIANTS) as (keyof typeof INVARIANTS)[]).flatMap((invariant) =>
    INVARIANTS[invariant](history).map((text) => ({ invariant, text })),
  );
}

function nodeEventsOnce({ events }: History): string[] {
  const next = new Map<string, number>();
  return inSeqOrder(events).flatMap((event) => {
    if (event.n === undefined) return [];
    const key = `${event.runId}:${event.epoch}`;
    const expected = next.get(key) ?? 1;
    next.set(key, event.n + 1);
    return event.n === expected ? [] : [`${key}: event ${event.n} stands where ${expected} is due`];
  });
}

// A journaled event may be refused for two reasons only: a newer epoch, or an end the coordinator itself decided.
function journalsStored({ journals, events, runs }: History): string[] {
  const stored = new Set(events.map((event) => `${event.runId}:${event.epoch}:${event.n}`));
  const ends = new Map(events.filter((event) => event.kind === FINISHED).map((event) => [event.runId, event]));
  const rows = new Map(runs.map((run) => [run.runId, run]));
  return journals.flatMap(({ runId, epoch, n, node }) => {
    const row = rows.get(runId);
    const end = ends.get(runId);
    const isRefused = row === undefined || epoch < row.epoch || (end !== undefined && end.n === undefined);
    if (isRefused || stored.has(`${runId}:${epoch}:${n}`)) return [];
    return [`${runId}:${epoch}: event ${n} was in the journal of ${node} and is not stored`];
  });
}

function numbersOnce({ events, runs }: History): string[] {
  const texts = new Map<string, string>();
  for (const event of inSeqOrder(events)) {
    const key = `${event.runId}:${event.epoch}`;
    if (event.text !== undefined) texts.set(key, (texts.get(key) ?? "") + event.text);
  }
  return runs.flatMap((run) => {
    const whole = countTo(run.count);
    const broken = [...texts].filter(([key, text]) => key.startsWith(`${run.runId}:`) && !whole.startsWith(text));
    const found = broken.map(([key, text]) => `${key}: counted ${excerpt(text, whole)}`);
    if (run.state !== "succeeded") return found;
    const last = texts.get(`${run.runId}:${run.epoch}`) ?? "";
    if (last !== whole) found.push(`${run.runId}: succeeded after ${last.length} of ${whole.length} characters`);
    if (run.output !== whole) found.push(`${run.runId}: its output is not what it counted`);
    return found;
  });
}

function epochsFence({ events }: History): string[] {
  const newest = new Map<string, number>();
  return inSeqOrder(events).flatMap((event) => {
    const before = newest.get(event.runId) ?? 0;
    newest.set(event.runId, Math.max(before, event.epoch));
    // Events of the coordinator carry the epoch of the row; only a device's word can be stale.
    return event.n !== undefined && event.epoch < before
      ? [`${event.runId}: event ${event.n} of epoch ${event.epoch} came after epoch ${before} began`]
      : [];
  });
}

function oneTerminalEvent({ events, runs }: History): string[] {
  const ends = groupBy(
    events.filter((event) => event.kind === FINISHED),
    (event) => event.runId,
  );
  return runs.flatMap((run) => {
    const own = ends.get(run.runId) ?? [];
    if (!TERMINAL.includes(run.state)) {
      return own.length === 0 ? [] : [`${run.runId}: is ${run.state} but its log has ended`];
    }
    if (own.length !== 1) return [`${run.runId}: is ${run.state} with ${own.length} terminal events`];
    const end = own[0];
    if (end?.seq !== run.lastSeq) return [`${run.runId}: event ${end?.seq} ends it, but ${run.lastSeq} is the last`];
    return end.state === run.state ? [] : [`${run.runId}: is ${run.state}, its terminal event says ${end.state}`];
  });
}

function terminalIsFinal({ transitions, runs }: History): string[] {
  const last = new Map<string, string>();
  const found: string[] = [];
  const see = (runId: string, state: string): void => {
    const before = last.get(runId);
    if (before !== undefined && TERMINAL.includes(before) && before !== state) {
      found.push(`${runId}: was ${before}, then ${state}`);
    }
    last.set(runId, state);
  };
  for (const { runId, state } of transitions) see(runId, state);
  for (const { runId, state } of runs) see(runId, state);
  return found;
}

function seqsDense({ events, runs }: History): string[] {
  const byRun = groupBy(inSeqOrder(events), (event) => event.runId);
  return runs.flatMap((run) => {
    const seqs = (byRun.get(run.runId) ?? []).map((event) => event.seq);
    return gapIn(seqs, run.lastSeq).map((gap) => `${run.runId}: stored ${gap}`);
  });
}

function readersComplete({ readers, runs }: History): string[] {
  const rows = new Map(runs.map((run) => [run.runId, run]));
  return readers.flatMap(({ runId, seqs, ended }) =>
    gapIn(seqs, ended ? rows.get(runId)?.lastSeq : undefined).map((gap) => `${runId}: a reader saw ${gap}`),
  );
}

function nothingStuck({ transitions, runs }: History): string[] {
  const unwatched = transitions
    .filter(({ state, armed }) => !TERMINAL.includes(state) && !armed)
    .map(({ runId, state }) => `${runId}: was ${state} without a deadline`);
  const open = runs
    .filter(({ state }) => !TERMINAL.includes(state) && state !== "queued")
    .map(({ runId, state, reason }) => `${runId}: still ${state} after the quiet time (${reason})`);
  return [...unwatched, ...open];
}

function healed({ nodes, runs, removals }: History): string[] {
  const removed = new Set(removals.map(({ nodeId }) => nodeId));
  const absent = nodes.filter(({ id, status }) => status !== "online" && !removed.has(id));
  const unexplained = runs.filter(({ state, reason }) => state === "queued" && reason === "");
  return [
    ...absent.map(({ name, status }) => `${name} is ${status} after the quiet time`),
    ...unexplained.map(({ runId }) => `${runId}: is queued and does not say why`),
  ];
}

function removedIsSilent({ removals, transitions }: History): string[] {
  return removals.flatMap(({ nodeId, atMs }) => {
    const before = new Map<string, number>();
    const found: string[] = [];
    for (const { runId, nodeId: holder, committedN, atMs: seenAtMs } of transitions) {
      const known = before.get(runId) ?? 0;
      before.set(runId, committedN);
      if (holder === nodeId && committedN > known && seenAtMs > atMs + REMOVAL_MS) {
        found.push(`${runId}: ${nodeId} appended up to ${committedN}, ${seenAtMs - atMs} ms after its removal`);
      }
    }
    return found;
  });
}

function cancelledStops({ cancels, events, runs }: History): string[] {
  const rows = new Map(runs.map((run) => [run.runId, run]));
  const byRun = groupBy(events, (event) => event.runId);
  return cancels.flatMap(({ runId, atMs, boundMs }) => {
    const work = (byRun.get(runId) ?? []).filter((event) => event.text !== undefined && event.atMs > atMs + boundMs);
    const row = rows.get(runId);
    const end = (byRun.get(runId) ?? []).find((event) => event.kind === FINISHED);
    const isIgnored = row?.state === "succeeded" && end !== undefined && end.atMs > atMs + boundMs;
    return [
      ...work.slice(0, 1).map((event) => `${runId}: still counting ${event.atMs - atMs} ms after the cancel`),
      ...(isIgnored ? [`${runId}: succeeded ${end.atMs - atMs} ms after the cancel`] : []),
    ];
  });
}

function keysMakeOneRun({ creations, runs }: History): string[] {
  const stored = groupBy(runs, (run) => run.key);
  const doubled = [...stored]
    .filter(([, own]) => own.length > 1)
    .map(([key, own]) => `key ${key} made ${own.map((run) => run.runId).join(" and ")}`);
  const wrong = creations.flatMap(({ key, runIds }) => {
    const own = new Set((stored.get(key) ?? []).map((run) => run.runId));
    return runIds.filter((id) => !own.has(id)).map((id) => `key ${key} was answered with ${id}, which is not stored`);
  });
  return [...doubled, ...wrong];
}

function endsExplained({ runs, removals }: History): string[] {
  const removed = new Set(removals.map(({ nodeId }) => nodeId));
  return runs
    .filter(({ state, nodeId, error }) =>
      state === "lost" ? !removed.has(nodeId ?? "") : state === "failed" && !EXPLAINED.has(error?.code ?? ""),
    )
    .map(({ runId, state, error }) => `${runId}: ${state} with ${error?.code}: ${error?.message}`);
}

/** What a run that counts to `count` says. */
export function countTo(count: number): string {
  return Array.from({ length: count }, (_, i) => i + 1).join(" ");
}

function gapIn(seqs: readonly number[], lastSeq: number | undefined): string[] {
  const at = seqs.findIndex((seq, i) => seq !== i + 1);
  if (at >= 0) return [`seq ${seqs[at]} where ${at + 1} was due`];
  return lastSeq === undefined || seqs.length === lastSeq ? [] : [`${seqs.length} of ${lastSeq} events`];
}

function excerpt(text: string, whole: string): string {
  let at = 0;
  while (at < text.length && text[at] === whole[at]) at += 1;
  return `"…${text.slice(Math.max(0, at - 10), at + 10)}…" at character ${at}`;
}

function inSeqOrder(events: readonly EventRow[]): readonly EventRow[] {
  return events.toSorted((a, b) => (a.runId === b.runId ? a.seq - b.seq : a.runId < b.runId ? -1 : 1));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
