/**
 * Which of several replicas does the work that only one should do.
 *
 * L1  Leadership of a name is a session lock of PostgreSQL, so at most one elector holds it. When the network is silent
 *     it is given up here (after 7 s at most) before the server gives it to another (after 11 s). Only a session that the
 *     server itself cuts leaves two leaders for as long as that news travels.
 * L2  A lost connection ends leadership at once, not at the next look.
 * L3  `onChange(false)` is called before another connection is tried, so work of two terms never overlaps in a process.
 *
 * A process may still be stopped between its last look and its next statement: the work of a leader must be harmless
 * when done twice (unique keys, SKIP LOCKED, epochs). The URL must reach PostgreSQL directly, not through a pooler.
 */

import { createHash } from "node:crypto";

import { Backoff, type Clock, errorText, type Service } from "@mesh/kernel";
import type postgres from "postgres";

import { openSql } from "./connection.ts";
import type { StoreLog } from "./log.ts";

/** What an elector needs. */
export interface LeaderElectorDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly log: StoreLog;
}

/** What is elected, and what follows. */
export interface LeaderElectorOptions {
  /** Electors of the same name compete; default `leader`. */
  readonly name?: string;
  /** Told each change; it must not throw. */
  readonly onChange?: (isLeader: boolean) => void;
  /** How often to try, and how often a leader looks after its connection; default 1 s. */
  readonly everyMs?: number;
}

const EVERY_MS = 1000;
const ANSWER_MS = 5000;
const RETRY = { firstMs: 200, maxMs: 5000 } as const;

/** Competes for leadership as long as it runs. */
export class LeaderElector implements Service {
  readonly name: string;
  readonly #deps: LeaderElectorDeps;
  readonly #options: LeaderElectorOptions;
  readonly #everyMs: number;
  readonly #lockKey: string;
  #isLeader = false;

  constructor(deps: LeaderElectorDeps, options: LeaderElectorOptions = {}) {
    const name = options.name ?? "leader";
    this.name = `${name} election`;
    this.#deps = deps;
    this.#options = options;
    this.#everyMs = options.everyMs ?? EVERY_MS;
    this.#lockKey = lockKey(name);
  }

  /** Whether this process leads now. */
  get isLeader(): boolean {
    return this.#isLeader;
  }

  /** Competes until aborted, then gives leadership up. Connection failures are retried for ever. */
  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps.clock, RETRY);
    while (!signal.aborted) {
      try {
        await this.#session(signal, () => backoff.succeeded());
      } catch (error) {
        if (signal.aborted) break;
        this.#deps.log.warn({ reason: errorText(error), failures: backoff.failures }, "leader election interrupted");
        await backoff.wait(signal);
      }
    }
  }

  /** One connection, from opening to its end; throws when it is lost. */
  async #session(signal: AbortSignal, works: () => void): Promise<void> {
    const lost = new AbortController();
    const session = AbortSignal.any([signal, lost.signal]);
    let isOpen = true;
    const sql = openSql({
      url: this.#deps.url,
      maxConnections: 1,
      applicationName: `yao ${this.name}`,
      statementTimeoutMs: ANSWER_MS,
      onClose: () => {
        // A late word of an old connection says nothing about the present one.
        if (isOpen) this.#become(false);
        lost.abort();
      },
    });
    try {
      const pid = await this.#answer(backendPid(sql));
      works();
      while (!session.aborted) {
        if (this.#isLeader) await this.#answer(assertSession(sql, pid));
        else this.#become((await this.#answer(tryLock(sql, this.#lockKey))) && !session.aborted);
        await this.#deps.clock.sleep(this.#everyMs, session);
      }
      if (!signal.aborted) throw new Error("the connection to the database was lost");
    } finally {
      isOpen = false;
      this.#become(false);
      // Ending the session releases the lock.
      await sql.end({ timeout: 0 });
    }
  }

  /** The answer, or a failure after a while: a half-open connection never answers. */
  async #answer<T>(query: Promise<T>): Promise<T> {
    let cancel: () => void = () => undefined;
    const late = new Promise<never>((_resolve, reject) => {
      cancel = this.#deps.clock.after(ANSWER_MS, () => reject(new Error("the database does not answer")));
    });
    try {
      return await Promise.race([query, late]);
    } finally {
      cancel();
    }
  }

  #become(isLeader: boolean): void {
    if (this.#isLeader === isLeader) return;
    this.#isLeader = isLeader;
    this.#deps.log.info({ isLeader }, isLeader ? "became leader" : "stepped down as leader");
    this.#options.onChange?.(isLeader);
  }
}

async function backendPid(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  return row?.pid ?? 0;
}

// Asked again and again rather than waited for: a waiting statement holds a snapshot, which keeps vacuum from cleaning.
async function tryLock(sql: postgres.Sql, key: string): Promise<boolean> {
  const [row] = await sql<{ locked: boolean }[]>`SELECT pg_try_advisory_lock(${key}::bigint) AS locked`;
  return row?.locked === true;
}

// The driver connects again by itself; a new session does not have the lock.
async function assertSession(sql: postgres.Sql, pid: number): Promise<void> {
  if ((await backendPid(sql)) !== pid) throw new Error("the database session that held the leadership is gone");
}

function lockKey(name: string): string {
  return createHash("sha256").update(`yao leader ${name}`).digest().readBigInt64BE(0).toString();
}
