/**
 * Reads the text of a document in a thread of its own, for files that strangers may have made: what the reading costs in time
 * and memory, it costs that thread.
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

import { type Clock, MeshError, toErrorCode } from "@mesh/kernel";

import { documentText, type DocumentTextResult, isHtml } from "./document-text.ts";
import { kindOf } from "./file-kind.ts";

/** Bounds of one reading. */
export interface ThreadLimits {
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

/** What the thread answers. */
export type FromThread =
  | { readonly result: DocumentTextResult }
  | { readonly error: { readonly code: string; readonly message: string } };

const LIMITS: ThreadLimits = { timeoutMs: 30_000, memoryMb: 256 };

/** Reads the text; throws what its owner should know. */
export async function extractInThread(
  file: { readonly bytes: Uint8Array; readonly name: string },
  { clock, signal }: { readonly clock: Pick<Clock, "after">; readonly signal: AbortSignal },
  given: Partial<ThreadLimits> = {},
): Promise<DocumentTextResult> {
  signal.throwIfAborted();
  // Plain text takes no reader that a file could lead astray.
  if (!isHtml(file.name) && kindOf({ ...file, mimeType: "" }).kind === "text")
    return documentText(file, { clock, signal });
  const limits = { ...LIMITS, ...given };
  const bytes = new Uint8Array(file.bytes);
  const { entry, ...options } = program();
  const worker = new Worker(entry, {
    ...options,
    name: "extract",
    workerData: { bytes, name: file.name },
    transferList: [bytes.buffer],
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb },
  });
  try {
    return await answerOf(worker, { clock, signal, limits });
  } finally {
    await worker.terminate();
  }
}

function answerOf(
  worker: Worker,
  { clock, signal, limits }: { clock: Pick<Clock, "after">; signal: AbortSignal; limits: ThreadLimits },
): Promise<DocumentTextResult> {
  return new Promise((resolve, reject) => {
    const finish = (work: () => void): void => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      work();
    };
    const fail = (code: "deadline_exceeded" | "resource_exhausted" | "internal" | "cancelled", text: string): void =>
      finish(() => reject(new MeshError(code, text)));
    const onAbort = (): void => fail("cancelled", "the reading was stopped");
    const cancelTimer = clock.after(limits.timeoutMs, () =>
      fail("deadline_exceeded", `it could not be read within ${limits.timeoutMs / 1000} s`),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    worker.once("message", (message: FromThread) =>
      finish(() => {
        if ("result" in message) resolve(message.result);
        else reject(new MeshError(toErrorCode(message.error.code), message.error.message));
      }),
    );
    worker.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") fail("resource_exhausted", "it needs too much memory to be read");
      else fail("internal", "its reader failed");
    });
    worker.once("exit", () => fail("internal", "its reader ended"));
  });
}

/** The thread's program, from built code and from source alike. */
function program(): { readonly entry: string | URL; readonly eval: boolean; readonly execArgv: string[] } {
  const from = import.meta.url;
  if (!from.endsWith(".ts")) return { entry: new URL("thread.js", from), eval: false, execArgv: [] };
  // Only in development and tests: Node 20 does not read TypeScript, and a thread takes no loader from its options.
  const loader = new URL("esm/api/index.mjs", pathToFileURL(createRequire(from).resolve("tsx"))).href;
  const entry = new URL("thread.ts", from).href;
  const code = `import(${JSON.stringify(loader)}).then(({ register }) => (register(), import(${JSON.stringify(entry)})))`;
  return { entry: code, eval: true, execArgv: ["--conditions=@mesh/source"] };
}
