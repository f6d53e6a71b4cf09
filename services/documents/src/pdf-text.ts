/**
 * The text of a PDF file, page by page.
 *
 * P1  The reader of the format runs in a thread of its own, with bounds on memory and time: a hostile file costs that thread.
 * P2  What was read before a bound was met is kept.
 */

import { Worker } from "node:worker_threads";

import { type Clock, MeshError } from "@mesh/kernel";

/** The text of some pages. */
export interface PdfText {
  readonly pages: readonly string[];
  /** How many the file has; undefined when reading ended before that was known. */
  readonly total: number | undefined;
}

/** Bounds of one reading. */
export interface PdfLimits {
  readonly timeoutMs: number;
  readonly maxPages: number;
  readonly maxChars: number;
  readonly memoryMb: number;
}

type FromReader =
  | { readonly total: number }
  | { readonly page: string }
  | { readonly done: true }
  | { readonly error: string; readonly isLocked: boolean };

const LIMITS: PdfLimits = { timeoutMs: 20_000, maxPages: 500, maxChars: 400_000, memoryMb: 256 };

// The thread's program. It finds the library where this module finds it, whether that is built or not.
const READER = `
const { parentPort, workerData } = require("node:worker_threads");
const { library, bytes, maxPages } = workerData;
import(library)
  .then(async ({ getDocumentProxy }) => {
    const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
    parentPort.postMessage({ total: pdf.numPages });
    for (let number = 1; number <= Math.min(pdf.numPages, maxPages); number += 1) {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      const pieces = items.map((item) => (item.str ?? "") + (item.hasEOL ? "\\n" : ""));
      parentPort.postMessage({ page: pieces.join("") });
      page.cleanup();
    }
    parentPort.postMessage({ done: true });
  })
  .catch((error) => {
    parentPort.postMessage({ error: String(error?.message), isLocked: error?.name === "PasswordException" });
  });
`;

/** Reads the text of a PDF; throws when there is nothing to be had. */
export async function pdfText(
  bytes: Uint8Array,
  { clock, signal }: { readonly clock: Pick<Clock, "after">; readonly signal: AbortSignal },
  given: Partial<PdfLimits> = {},
): Promise<PdfText> {
  signal.throwIfAborted();
  const limits = { ...LIMITS, ...given };
  // A copy: what the reader takes over is gone here.
  const copy = new Uint8Array(bytes);
  const worker = new Worker(READER, {
    eval: true,
    name: "pdf",
    workerData: { library: import.meta.resolve("unpdf"), bytes: copy, maxPages: limits.maxPages },
    transferList: [copy.buffer],
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb },
  });
  try {
    return await pagesOf(worker, { clock, signal, limits });
  } finally {
    await worker.terminate();
  }
}

function pagesOf(
  worker: Worker,
  {
    clock,
    signal,
    limits,
  }: { readonly clock: Pick<Clock, "after">; readonly signal: AbortSignal; readonly limits: PdfLimits },
): Promise<PdfText> {
  return new Promise((resolve, reject) => {
    const pages: string[] = [];
    let total: number | undefined;
    let chars = 0;
    const finish = (reason?: MeshError): void => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted) reject(new MeshError("cancelled", "the run was cancelled"));
      else if (reason !== undefined && pages.length === 0) reject(reason);
      else resolve({ pages, total });
    };
    const onAbort = (): void => finish();
    const cancelTimer = clock.after(limits.timeoutMs, () =>
      finish(new MeshError("deadline_exceeded", `it could not be read within ${limits.timeoutMs / 1000} s`)),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    worker.on("message", (message: FromReader) => {
      if ("total" in message) total = message.total;
      else if ("page" in message) {
        pages.push(message.page);
        chars += message.page.length;
        if (chars > limits.maxChars) finish();
      } else if ("error" in message) finish(failure(message));
      else finish();
    });
    worker.once("error", () =>
      finish(new MeshError("resource_exhausted", "it needs more memory than there is for it")),
    );
    worker.once("exit", () => finish(new MeshError("internal", "its reader ended")));
  });
}

function failure({ isLocked }: { readonly isLocked: boolean }): MeshError {
  return new MeshError(
    "invalid_argument",
    isLocked ? "it is protected by a password" : "it is damaged, or no PDF that can be read",
  );
}
