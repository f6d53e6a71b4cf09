/** One running `postgres` process: starting it, knowing when it accepts connections, stopping it. */

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

import type { Clock } from "@mesh/kernel";

import type { StoreLog } from "../log.ts";
import { type Cluster, dataArgument } from "./cluster.ts";
import { type Guard, guardServer } from "./guard.ts";
import { stopProcess } from "./leftover.ts";
import { serverSettings, settingArguments } from "./setting.ts";

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How the first moments of a server went. */
export type Launch = { readonly kind: "ready" } | { readonly kind: "failed"; readonly lines: readonly string[] };

const KEPT_LINES = 20;
const READY = "database system is ready to accept connections";
const REPORT_EVERY_MS = 10_000;
const LAST_LINES_MS = 1000;

/** A `postgres` child process under guard. */
export class ServerProcess {
  readonly exited: Promise<ProcessExit>;
  readonly #child: ChildProcess;
  readonly #guard: Guard | undefined;
  readonly #deps: { readonly clock: Clock; readonly log: StoreLog };
  readonly #lines: string[] = [];
  readonly #logEnded: Promise<void>;
  #ready: () => void = () => undefined;
  #hasExited = false;
  #stopping: Promise<void> | undefined;

  constructor(cluster: Cluster, port: number, deps: { readonly clock: Clock; readonly log: StoreLog }) {
    this.#deps = deps;
    const settings = serverSettings({ port, durable: cluster.durable });
    const args = ["-D", dataArgument(cluster.clusterDir, cluster.identity), ...settingArguments(settings)];
    this.#child = spawn(cluster.binaries.postgres, args, {
      cwd: cluster.clusterDir,
      env: { LC_ALL: "C" },
      stdio: ["ignore", "ignore", "pipe"],
      // A session of its own: Ctrl-C at the terminal must reach the owner first, which still needs its database.
      detached: true,
      ...cluster.identity,
    });
    this.#guard = this.#child.pid === undefined ? undefined : guardServer(this.#child.pid);
    this.exited = new Promise((resolve) => {
      const ended = (exit: ProcessExit): void => {
        this.#hasExited = true;
        this.#guard?.release();
        resolve(exit);
      };
      this.#child.once("error", (error) => {
        this.#keep(error.message);
        if (this.#child.pid === undefined) ended({ code: null, signal: null });
      });
      // Not "close", which waits for every process that inherited the log's pipe.
      this.#child.once("exit", (code, signal) => ended({ code, signal }));
    });
    this.#logEnded = new Promise((resolve) => {
      this.#child.once("close", () => resolve());
    });
    if (this.#child.stderr !== null) {
      createInterface({ input: this.#child.stderr }).on("line", (line) => this.#read(line));
    }
  }

  /** 0 if it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Waits until it accepts connections or has ended; recovery after a crash may take a while and is reported. */
  async launched(): Promise<Launch> {
    const ready = new Promise<Launch>((resolve) => {
      this.#ready = () => resolve({ kind: "ready" });
    });
    const failed = this.exited.then(async (): Promise<Launch> => {
      await Promise.race([this.#logEnded, this.#deps.clock.sleep(LAST_LINES_MS)]);
      return { kind: "failed", lines: this.#lines };
    });
    const cancel = this.#deps.clock.every(REPORT_EVERY_MS, () => {
      this.#deps.log.info({ line: this.#lines.at(-1) }, "waiting for the database to recover");
    });
    const launch = await Promise.race([ready, failed]);
    cancel();
    return launch;
  }

  /** Fast shutdown, harder ones if that takes too long; resolves when it has ended. */
  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    if (this.pid !== 0) await stopProcess(this.pid, () => this.#hasExited, this.#deps);
    await this.exited;
  }

  #read(line: string): void {
    this.#keep(line);
    if (line.includes(READY)) this.#ready();
    if (line.startsWith("PANIC")) this.#deps.log.error({ line }, "database server failed");
    else this.#deps.log.debug({ line }, "postgres");
  }

  #keep(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
  }
}
