/**
 * Brings the coordinator from the index it knows to the one this device has, a page at a time.
 *
 * R1  A page that arrives twice changes nothing; a page that is lost is sent again.
 * R2  Where the coordinator knows another index than this device believes, everything is told again.
 */

import { randomUUID } from "node:crypto";

import { FilesAnswer, FilesReport, type WantedText } from "@mesh/proto/wire";

import { diffOf, EMPTY_DIGEST, type FileIndex, type IndexEntry, moved } from "./file-index.ts";

/** Asks the coordinator until it answers. */
export type Ask = (method: string, data: Uint8Array, signal: AbortSignal) => Promise<Uint8Array>;

/** What is to be told. */
export interface Reporting {
  readonly workspaceId: string;
  /** What the coordinator was told last. */
  readonly known: FileIndex;
  readonly index: FileIndex;
  /** Paths to be told of although nothing seems to have changed. */
  readonly touched: ReadonlySet<string>;
  readonly runOf: (entry: IndexEntry) => string;
}

const MAX_PAGE_ENTRIES = 500;
const MAX_PAGE_CHARS = 300_000;
const RPC = "files";

/** Tells it, and returns the documents whose text is asked for. */
export async function report(reporting: Reporting, ask: Ask, signal: AbortSignal): Promise<readonly WantedText[]> {
  const { known, index, touched } = reporting;
  const diff = diffOf(known, index);
  const changed = [...diff.changed];
  const gone = diff.gone.map(({ path }) => path);
  const told = new Set([...changed.map(({ path }) => path), ...gone]);
  for (const path of touched) {
    if (told.has(path)) continue;
    const entry = index.get(path);
    if (entry === undefined) gone.push(path);
    else changed.push(entry);
  }
  const before = moved(EMPTY_DIGEST, known.values());
  const pages = pagesOf({ changed, gone });
  let base = before;
  let answer: FilesAnswer | undefined;
  for (const [n, page] of pages.entries()) {
    const digest = n === pages.length - 1 ? moved(EMPTY_DIGEST, index.values()) : `${before}:${n + 1}`;
    const chain = { base, digest, sync: "", first: n === 0, last: n === pages.length - 1 };
    answer = await send(reporting, { page, chain }, ask, signal);
    if (answer.resync) return reportAll(reporting, ask, signal);
    base = digest;
  }
  return answer?.wanted ?? [];
}

async function reportAll(reporting: Reporting, ask: Ask, signal: AbortSignal): Promise<readonly WantedText[]> {
  const { index } = reporting;
  const sync = randomUUID();
  const pages = pagesOf({ changed: [...index.values()], gone: [] });
  let base = "";
  let answer: FilesAnswer | undefined;
  for (const [n, page] of pages.entries()) {
    const last = n === pages.length - 1;
    const digest = last ? moved(EMPTY_DIGEST, index.values()) : `sync:${sync}:${n + 1}`;
    const chain = { base, digest, sync, first: n === 0, last };
    answer = await send(reporting, { page, chain }, ask, signal);
    // Another replica was told otherwise meanwhile; the next look starts again.
    if (answer.resync) throw new Error("the index has moved while it was told");
    base = digest;
  }
  return answer?.wanted ?? [];
}

interface Page {
  readonly changed: readonly IndexEntry[];
  readonly gone: readonly string[];
}

/** At least one page: one without changes asks whether the coordinator knows the same. */
function pagesOf({ changed, gone }: Page): readonly Page[] {
  const pages: { changed: IndexEntry[]; gone: string[] }[] = [{ changed: [], gone: [] }];
  let chars = 0;
  const place = (path: string): { changed: IndexEntry[]; gone: string[] } => {
    const page = pages.at(-1);
    const isFull =
      page !== undefined && (page.changed.length + page.gone.length >= MAX_PAGE_ENTRIES || chars > MAX_PAGE_CHARS);
    if (page !== undefined && !isFull) {
      chars += path.length * 3;
      return page;
    }
    chars = path.length * 3;
    const next = { changed: [], gone: [] };
    pages.push(next);
    return next;
  };
  // What is gone last: what has only moved is known by then.
  for (const entry of changed) place(entry.path).changed.push(entry);
  for (const path of gone) place(path).gone.push(path);
  return pages;
}

type Chain = Pick<FilesReport, "base" | "digest" | "sync" | "first" | "last">;

async function send(
  { workspaceId, runOf }: Reporting,
  { page, chain }: { readonly page: Page; readonly chain: Chain },
  ask: Ask,
  signal: AbortSignal,
): Promise<FilesAnswer> {
  const message = FilesReport.encode({
    workspace_id: workspaceId,
    ...chain,
    changed: page.changed.map((entry) => ({
      path: entry.path,
      is_directory: entry.isDirectory,
      size_bytes: entry.size,
      hash: entry.hash,
      modified_ms: entry.mtimeMs,
      run_id: runOf(entry),
    })),
    gone: [...page.gone],
  }).finish();
  return FilesAnswer.decode(await ask(RPC, message, signal));
}
