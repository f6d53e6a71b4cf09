/**
 * The peer of the dispatch benchmark: a graphile-worker with a task that does nothing. Tells its owner when each task
 * started and when its completion was committed.
 */

import { createRequire } from "node:module";

import { Logger, run, type Runner } from "graphile-worker";

import { note, serveLoad } from "./load-process.ts";
import { nowMs } from "./sample.ts";

/** One finished job. */
export interface JobNote {
  readonly key: number;
  readonly startedMs: number;
  readonly committedMs: number;
}

interface Client {
  query: (...args: unknown[]) => unknown;
}

interface Pool {
  on(event: "connect", listener: (client: Client) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  end(): Promise<void>;
}

// The peer's own driver, so that the peer runs as it is delivered.
const requireOfPeer = createRequire(createRequire(import.meta.url).resolve("graphile-worker"));
const pg = requireOfPeer("pg") as {
  readonly Pool: new (options: { connectionString: string; max: number }) => Pool;
};

const started = new Map<string, { readonly key: number; readonly startedMs: number }>();
let runner: Runner | undefined;

serveLoad({
  async start({ databaseUrl, concurrency }: { databaseUrl: string; concurrency: number }) {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 16 });
    pool.on("connect", watchCompletions);
    // Connections end when the database is stopped under this process; by then the measurement is over.
    pool.on("error", () => undefined);
    runner = await run({
      pgPool: pool as never,
      concurrency,
      noHandleSignals: true,
      logger: new Logger(() => () => undefined),
      taskList: {
        noop: async (payload, { job }) => {
          started.set(job.id, { key: (payload as { key: number }).key, startedMs: nowMs() });
        },
      },
    });
  },
  async stop() {
    await runner?.stop();
  },
});

// The library does not await the statement that completes a job and tells nobody when it is done.
function watchCompletions(client: Client): void {
  const query = client.query.bind(client);
  client.query = (...args: unknown[]): unknown => {
    const result = query(...args);
    const { text = "", values = [] } = (args[0] ?? {}) as { text?: string; values?: readonly unknown[] };
    if (text.startsWith("delete from") && text.includes("_private_jobs")) {
      void (result as Promise<unknown>).then(() => values.flat().forEach(tellCompleted));
    }
    return result;
  };
}

function tellCompleted(jobId: unknown): void {
  const job = started.get(String(jobId));
  if (job === undefined) return;
  started.delete(String(jobId));
  note({ ...job, committedMs: nowMs() } satisfies JobNote);
}
