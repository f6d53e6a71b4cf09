/**
 * Keeps one server's session: starts it, starts it again, ends it.
 *
 * K1  Nothing runs until the first use; uses at the same time share one start, and one that gives up does not end it for others.
 * K2  After a death the next use starts the server again, after a delay that grows while it keeps dying. A short delay is waited
 *     for; a long one is reported, with the reason of the last failure.
 * K3  A use the server refused because it had forgotten our session is made once more on a new one; nothing else is repeated.
 * K4  A session nobody uses is ended after a while.
 */

import { Backoff, type CancelTimer, type Clock, errorText, MeshError } from "@mesh/kernel";

import { forPeople, sharedWait } from "./deadline.ts";
import { type ListKind, type McpSession, type SessionEvents, SessionLostError } from "./session.ts";

/** Takes one line for the operator: a stable phrase and its data. */
export type McpLog = (
  level: "debug" | "info" | "warn",
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => void;

/** What a keeper uses. */
export interface SessionKeeperDeps<Caller> {
  readonly clock: Clock;
  /** Starts a session. */
  readonly open: (events: SessionEvents, signal: AbortSignal) => Promise<McpSession<Caller>>;
  /** Asked before each start; rejects when no further server may run. */
  readonly admit: () => Promise<void>;
  /** A list is stale; all are when the session has ended. */
  readonly changed: (kind: ListKind | "all") => void;
  readonly log: McpLog;
}

/** A longer delay before a restart is reported instead of waited for. */
const MAX_RESTART_WAIT_MS = 2000;

/** The session of one server. */
export class SessionKeeper<Caller> {
  readonly #id: string;
  readonly #deps: SessionKeeperDeps<Caller>;
  readonly #idleMs: number;
  readonly #backoff: Backoff;
  readonly #closed = new AbortController();
  #session: Promise<McpSession<Caller>> | undefined;
  #uses = 0;
  #usedAtMs: number;
  #cancelIdle: CancelTimer = () => undefined;
  #notBeforeMs = 0;
  #lastFailure = "";

  constructor(id: string, deps: SessionKeeperDeps<Caller>, idleMs: number) {
    this.#id = id;
    this.#deps = deps;
    this.#idleMs = idleMs;
    this.#backoff = new Backoff(deps.clock, { firstMs: 250, maxMs: 30_000 });
    this.#usedAtMs = deps.clock.monotonic();
  }

  /** Whether a session is up or being started. */
  get isRunning(): boolean {
    return this.#session !== undefined;
  }

  /** Whether it is in use. */
  get isBusy(): boolean {
    return this.#uses > 0;
  }

  /** When it was last used, on the monotonic clock. */
  get usedAtMs(): number {
    return this.#usedAtMs;
  }

  /** Aborts when the keeper is closed. */
  get signal(): AbortSignal {
    return this.#closed.signal;
  }

  /** Does something with a live session. */
  async use<T>(signal: AbortSignal, work: (session: McpSession<Caller>) => Promise<T>): Promise<T> {
    this.#uses += 1;
    this.#cancelIdle();
    try {
      const session = await this.#live(signal);
      try {
        return await work(session);
      } catch (error) {
        if (!(error instanceof SessionLostError)) throw error;
        await this.#replace(session);
      }
      return await work(await this.#live(signal));
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      throw new MeshError("unavailable", `${this.#server} forgets each session at once`, { cause: error });
    } finally {
      this.#uses -= 1;
      this.#usedAtMs = this.#deps.clock.monotonic();
      if (this.#uses === 0) this.#armIdle();
    }
  }

  /** Ends the session if there is one; the next use starts another. */
  async stop(): Promise<void> {
    const session = this.#session;
    this.#forget();
    await session?.then(
      (live) => live.close(),
      () => undefined,
    );
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.stop();
  }

  #live(signal: AbortSignal): Promise<McpSession<Caller>> {
    if (this.#closed.signal.aborted) {
      return Promise.reject(new MeshError("failed_precondition", `${this.#server} was closed with its runner`));
    }
    this.#session ??= this.#begin();
    return sharedWait(this.#session, signal, `${this.#server}, being started,`);
  }

  #begin(): Promise<McpSession<Caller>> {
    const forget = (): void => {
      if (this.#session === starting) this.#forget();
    };
    let hasFailed = false;
    const failed = (reason: string): void => {
      forget();
      // A server that dies while it starts is seen twice: by its death, and by the start that fails.
      if (!hasFailed) this.#failed(reason);
      hasFailed = true;
    };
    const starting: Promise<McpSession<Caller>> = this.#start(failed);
    starting.catch(forget);
    return starting;
  }

  async #start(failed: (reason: string) => void): Promise<McpSession<Caller>> {
    await this.#waitForTurn();
    await this.#deps.admit();
    try {
      const session = await this.#deps.open({ changed: this.#deps.changed, died: failed }, this.#closed.signal);
      this.#backoff.succeeded();
      this.#deps.log("debug", "mcp server started", { server: this.#id });
      return session;
    } catch (error) {
      failed(errorText(error));
      throw error;
    }
  }

  async #waitForTurn(): Promise<void> {
    const waitMs = this.#notBeforeMs - this.#deps.clock.monotonic();
    if (waitMs <= 0) return;
    if (waitMs > MAX_RESTART_WAIT_MS) {
      const text = `failed ${this.#backoff.failures} times in a row and is started again in ${forPeople(waitMs)}`;
      throw new MeshError("unavailable", `${this.#server} ${text}. Last failure: ${this.#lastFailure}`);
    }
    await this.#deps.clock.sleep(waitMs, this.#closed.signal);
  }

  #failed(reason: string): void {
    this.#lastFailure = reason;
    this.#notBeforeMs = this.#deps.clock.monotonic() + this.#backoff.nextDelayMs();
    this.#deps.log("warn", "mcp server failed", { server: this.#id, reason, failures: this.#backoff.failures });
  }

  /** Ends a session the server has forgotten; another use may have done so already. */
  async #replace(lost: McpSession<Caller>): Promise<void> {
    const current = await this.#session?.catch(() => undefined);
    if (current === lost) await this.stop();
  }

  #forget(): void {
    this.#cancelIdle();
    this.#session = undefined;
    this.#deps.changed("all");
  }

  get #server(): string {
    return `MCP server "${this.#id}"`;
  }

  #armIdle(): void {
    this.#cancelIdle();
    if (this.#session === undefined) return;
    this.#cancelIdle = this.#deps.clock.after(this.#idleMs, () => void this.stop());
  }
}
