/**
 * A pool of postgres.js connections that survives lost ones.
 *
 * The driver's own pool does not: a statement run on a transaction or reserved connection whose socket just closed throws
 * outside any promise and ends the process (porsager/postgres #1154, #1208), one that follows a reconnect may run outside
 * of its transaction, and a pool cut under load can stop answering. So each connection here is a driver of its own, with
 * a pool of one, that is thrown away when its connection is lost; this file decides which one runs a statement, at the
 * moment it runs.
 *
 * C1  A statement never starts on a lost connection: it gets another one, or fails as `unavailable` if it belongs to a
 *     transaction or a reserved connection.
 * C2  A transaction is on one connection from begin to commit, and is kept only if all its statements succeeded.
 * C3  Statements wait in order for a free connection; how many may wait is bounded.
 */

import { MeshError, systemClock } from "@mesh/kernel";
import type postgres from "postgres";

import { databaseError } from "./database-error.ts";
import { type Run, runOf, type Statement, statementsRunBy } from "./statement.ts";
import { inTransaction, type Work } from "./transaction.ts";

/** Makes the driver of one connection; `onClose` is called when that connection is lost or closed. */
export type MakeDriver = (onClose: () => void) => postgres.Sql;

/** Size of a pool, and who wants to know of lost connections. */
export interface PoolOptions {
  readonly maxConnections: number;
  readonly onClose?: (() => void) | undefined;
}

/** Makes a pool that is used like the driver itself. */
export function openPool(make: MakeDriver, options: PoolOptions): postgres.Sql {
  const pool = new Pool(make, options);
  return statementsRunBy((statement) => void pool.run(statement), pool.builder, {
    begin: (first: string | Work, second?: Work) =>
      typeof first === "string" ? pool.begin(first, second) : pool.begin("", first),
    reserve: () => pool.reserve(),
    end: (ending?: { readonly timeout?: number }) => pool.end(ending?.timeout),
  });
}

/** One connection; `generation` grows each time it is lost and replaced. */
interface Slot {
  driver: postgres.Sql;
  run: Run;
  generation: number;
}

/** The use of one connection for several statements. */
interface Lease {
  readonly sql: postgres.ReservedSql;
  giveBack(): void;
}

interface Waiter {
  resolve(slot: Slot): void;
  reject(error: MeshError): void;
}

const MAX_WAITING = 10_000;
const CLOSE_SECONDS = 1;

class Pool {
  /** Builds statements; it never connects. */
  readonly builder: postgres.Sql;
  readonly #make: MakeDriver;
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #idle: Slot[] = [];
  readonly #waiting: Waiter[] = [];
  #ended: Promise<void> | undefined;
  #allIdle: () => void = () => undefined;

  constructor(make: MakeDriver, options: PoolOptions) {
    this.#make = make;
    this.#options = options;
    this.builder = make(() => undefined);
  }

  /** Runs one statement on whichever connection is free first. */
  async run(statement: Statement): Promise<void> {
    try {
      // Reading with a cursor never settles the statement's promise, which is how its end is known.
      if (statement.cursorRows !== undefined) {
        throw new MeshError("unimplemented", "a cursor needs a transaction or a reserved connection");
      }
      const slot = await this.#acquire();
      const release = (): void => this.#release(slot);
      slot.run(statement);
      statement.then(release, release);
    } catch (error) {
      statement.reject(error);
    }
  }

  async begin(mode: string, work: Work | undefined): Promise<unknown> {
    const lease = await this.#lease();
    try {
      return await inTransaction(lease.sql, mode, work ?? (() => undefined));
    } finally {
      lease.giveBack();
    }
  }

  async reserve(): Promise<postgres.ReservedSql> {
    const { sql } = await this.#lease();
    return sql;
  }

  /** Lets what runs end, for a while if one is given, then closes all connections. */
  end(timeoutSeconds: number | undefined): Promise<void> {
    return (this.#ended ??= this.#end(timeoutSeconds));
  }

  async #end(timeoutSeconds: number | undefined): Promise<void> {
    for (const waiter of this.#waiting.splice(0)) waiter.reject(closedError());
    if (this.#idle.length < this.#slots.size) {
      await new Promise<void>((resolve) => {
        const cancel = timeoutSeconds === undefined ? undefined : systemClock.after(timeoutSeconds * 1000, resolve);
        this.#allIdle = () => {
          cancel?.();
          resolve();
        };
      });
    }
    const idle = new Set(this.#idle);
    const close = (slot: Slot): Promise<void> => slot.driver.end({ timeout: idle.has(slot) ? CLOSE_SECONDS : 0 });
    await Promise.all([...this.#slots].map(close));
    await this.builder.end({ timeout: 0 });
  }

  async #lease(): Promise<Lease> {
    const slot = await this.#acquire();
    const { generation } = slot;
    let isOver = false;
    const giveBack = (): void => {
      if (isOver) return;
      isOver = true;
      this.#release(slot);
    };
    const run: Run = (statement) => {
      if (isOver) statement.reject(new MeshError("internal", "a statement came after the end of its transaction"));
      else if (slot.generation !== generation) statement.reject(lostError());
      else slot.run(statement);
    };
    return { sql: statementsRunBy(run, this.builder, { release: giveBack }) as postgres.ReservedSql, giveBack };
  }

  #acquire(): Promise<Slot> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) reject(closedError());
      else if (this.#idle.length > 0) resolve(this.#idle.pop() ?? this.#addSlot());
      else if (this.#slots.size < this.#options.maxConnections) resolve(this.#addSlot());
      else if (this.#waiting.length < MAX_WAITING) this.#waiting.push({ resolve, reject });
      else reject(new MeshError("resource_exhausted", "too many statements wait for the database; try again later"));
    });
  }

  #release(slot: Slot): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next.resolve(slot);
      return;
    }
    this.#idle.push(slot);
    if (this.#idle.length === this.#slots.size) this.#allIdle();
  }

  #addSlot(): Slot {
    const slot: Slot = { ...this.#connection(() => this.#replace(slot)), generation: 0 };
    this.#slots.add(slot);
    return slot;
  }

  #replace(slot: Slot): void {
    slot.generation += 1;
    if (this.#ended === undefined)
      Object.assign(
        slot,
        this.#connection(() => this.#replace(slot)),
      );
    this.#options.onClose?.();
  }

  #connection(onLost: () => void): Pick<Slot, "driver" | "run"> {
    const running = new Set<Statement>();
    let isLost = false;
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      onLost();
      // The driver forgets statements that came between the error of its socket and the end of it.
      for (const statement of running) statement.reject(lostError());
      void driver.end({ timeout: 0 });
    };
    const driver = this.#make(lose);
    const runOnDriver = runOf(driver);
    const run: Run = (statement) => {
      running.add(statement);
      runOnDriver(statement);
      const settled = (): void => void running.delete(statement);
      statement.then(settled, (error: unknown) => {
        settled();
        // Known from the statement first, a moment before the socket closes: the next one must not go there.
        if (databaseError(error).code === "unavailable") lose();
      });
    };
    return { driver, run };
  }
}

function closedError(): MeshError {
  return new MeshError("unavailable", "the connection to the database has been closed");
}

function lostError(): MeshError {
  return new MeshError("unavailable", "the connection to the database was lost; try again");
}
