/**
 * Keeps the coordinator's index of this device's files true, and gives it the text of documents.
 *
 * I1  A workspace is looked at after each of its runs, soon after each write, when the connection comes back, and in between at
 *     a pace that costs at most a fiftieth of one processor.
 * I2  Between looks nothing of an index is held in memory.
 * I3  What was told is kept on the disk only when the coordinator has it: after a crash the difference is found again.
 */

import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { Backoff, type Clock, Doorbell, errorText, MeshError, type Service } from "@mesh/kernel";

import type { AgentLog } from "../log.ts";
import { sendText } from "./document-text.ts";
import { diffOf, type FileIndex, loadIndex, saveIndex } from "./file-index.ts";
import { type Ask, report } from "./report.ts";
import { RunTimes } from "./run-times.ts";
import { type Scan, scan } from "./scan.ts";

/** What the indexer uses. */
export interface IndexerDeps {
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly ask: Ask;
  readonly workspacesDir: string;
  readonly workspaceDir: (workspaceId: string) => string;
  /** Where the indexes are kept. */
  readonly indexDir: string;
}

interface Place {
  dueMs: number;
  touched: Set<string>;
  readonly runs: RunTimes;
  readonly backoff: Backoff;
}

const POLL_MS = 30_000;
const SETTLE_MS = 150;
const SHARE = 50;
const REFUSED_MS = 600_000;
const MAX_TOUCHED = 10_000;
const MAX_WALKS = 3;
const WORKSPACE = /^[a-z0-9_]{1,64}$/;

/** See the file comment. */
export class FileIndexer implements Service {
  readonly name = "file-indexer";
  readonly #deps: IndexerDeps;
  readonly #bell: Doorbell;
  readonly #places = new Map<string, Place>();
  #isConnected = false;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(deps: IndexerDeps) {
    this.#deps = deps;
    this.#bell = new Doorbell(deps.clock);
  }

  /** The connection has come, or gone. */
  connected(isConnected: boolean): void {
    if (isConnected && !this.#isConnected) {
      this.#lookedMs = Number.NEGATIVE_INFINITY;
      for (const place of this.#places.values()) place.dueMs = 0;
    }
    this.#isConnected = isConnected;
    this.#bell.ring();
  }

  /** Files were written by command. */
  touched(workspaceId: string, paths: readonly string[]): void {
    const place = this.#placeOf(workspaceId);
    if (place.touched.size < MAX_TOUCHED) for (const path of paths) place.touched.add(path);
    this.#soon(place);
  }

  /** A run works in the workspace from now on. */
  runBegan(workspaceId: string, runId: string): void {
    this.#placeOf(workspaceId).runs.began(runId, this.#deps.clock.now());
  }

  /** A run has ended. */
  runEnded(workspaceId: string, runId: string): void {
    const place = this.#placeOf(workspaceId);
    place.runs.ended(runId, this.#deps.clock.now());
    this.#soon(place);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    while (!signal.aborted) {
      if (!this.#isConnected) {
        await this.#bell.wait(signal);
        continue;
      }
      if (clock.monotonic() - this.#lookedMs > POLL_MS) await this.#findWorkspaces();
      const next = [...this.#places].toSorted(([, a], [, b]) => a.dueMs - b.dueMs)[0];
      const waitMs = Math.min(POLL_MS, next === undefined ? POLL_MS : next[1].dueMs - clock.monotonic());
      if (next === undefined || waitMs > 0) await this.#bell.wait(signal, Math.max(1, waitMs));
      else await this.#look(...next, signal);
    }
  }

  async #look(workspaceId: string, place: Place, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const startedMs = clock.monotonic();
    const startedAt = clock.now();
    const { touched } = place;
    place.touched = new Set();
    place.dueMs = Number.POSITIVE_INFINITY;
    try {
      await this.#tell(workspaceId, place, touched, signal);
      place.runs.forgetBefore(startedAt);
      place.backoff.succeeded();
      const tookMs = clock.monotonic() - startedMs;
      place.dueMs = Math.min(place.dueMs, clock.monotonic() + Math.max(POLL_MS, tookMs * SHARE));
    } catch (thrown) {
      if (signal.aborted) return;
      for (const path of touched) place.touched.add(path);
      const error = MeshError.from(thrown);
      // A workspace that this device does not serve: it may again, and a new connection looks at once.
      const waitMs = error.code === "permission_denied" ? REFUSED_MS : place.backoff.nextDelayMs();
      place.dueMs = Math.min(place.dueMs, clock.monotonic() + waitMs);
      log[place.backoff.failures > 3 ? "warn" : "debug"]({ workspaceId, reason: errorText(error) }, "files not told");
    }
  }

  async #tell(workspaceId: string, place: Place, touched: Set<string>, signal: AbortSignal): Promise<void> {
    const { ask, indexDir, log } = this.#deps;
    const dir = this.#deps.workspaceDir(workspaceId);
    const path = join(indexDir, `${workspaceId}.index`);
    const known = await loadIndex(path);
    const { index, isCut } = await this.#scanned(place, { dir, known, touched }, signal);
    if (isCut) log.warn({ workspaceId, entries: index.size }, "not all files of the workspace are indexed");
    const runOf = ({ mtimeMs }: { readonly mtimeMs: number }): string => place.runs.at(mtimeMs);
    const reporting = { workspaceId, known, index, touched, runOf };
    const wanted = await report(reporting, ask, signal);
    const { changed, gone } = diffOf(known, index);
    // Times that only this device looks at may have moved as well.
    const hasMoved = [...index.values()].some((entry) => known.get(entry.path) !== entry);
    if (changed.length > 0 || gone.length > 0 || hasMoved) await saveIndex(path, index);
    for (let left = wanted; left.length > 0;) {
      for (const text of left) await sendText({ workspaceId, dir, wanted: text, clock: this.#deps.clock }, ask, signal);
      // The next ones, where there were more than one answer names.
      const asked = new Set(left.map(({ path: name, hash }) => `${hash} ${name}`));
      const more = await report({ ...reporting, known: index, touched: new Set() }, ask, signal);
      left = more.filter(({ path: name, hash }) => !asked.has(`${hash} ${name}`));
    }
  }

  /** Walks again while commands change files meanwhile: what they did is told by them already, and an older look would undo it. */
  async #scanned(
    place: Place,
    { dir, known, touched }: { readonly dir: string; readonly known: FileIndex; readonly touched: Set<string> },
    signal: AbortSignal,
  ): Promise<Scan> {
    for (let walks = 1; ; walks += 1) {
      const found = await scan(dir, known, signal);
      if (place.touched.size === 0 || walks === MAX_WALKS) return found;
      for (const path of place.touched) touched.add(path);
      place.touched = new Set();
    }
  }

  async #findWorkspaces(): Promise<void> {
    this.#lookedMs = this.#deps.clock.monotonic();
    const entries = await readdir(this.#deps.workspacesDir, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      if (entry.isDirectory() && WORKSPACE.test(entry.name)) this.#placeOf(entry.name);
    }
  }

  #placeOf(workspaceId: string): Place {
    const known = this.#places.get(workspaceId);
    if (known !== undefined) return known;
    const { clock } = this.#deps;
    const backoff = new Backoff(clock, { firstMs: 1_000, maxMs: 60_000 });
    const place: Place = { dueMs: 0, touched: new Set(), runs: new RunTimes(), backoff };
    this.#places.set(workspaceId, place);
    return place;
  }

  // A moment later, so that many writes are one look.
  #soon(place: Place): void {
    place.dueMs = Math.min(place.dueMs, this.#deps.clock.monotonic() + SETTLE_MS);
    this.#bell.ring();
  }
}
