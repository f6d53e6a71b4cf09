/**
 * A private nats-server as a child process.
 *
 * S1  Ready means: it has answered on its client port.
 * S2  It never outlives its owner: a guard process stops it when the owner is gone, however it went; a server that
 *     survived even that is stopped before the next one uses the same store.
 * S3  It listens on loopback only, and a terminal's Ctrl-C does not reach it: its owner stops it, in order.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";

import { type Clock, type HeldLock, isObject, MeshError, takeLock } from "@mesh/kernel";

import { dialServer } from "./dial.ts";
import type { BusLog } from "./link.ts";
import { writeServerConfig } from "./server-config.ts";
import { isRunning, runsWith, stopProcess } from "./server-process.ts";
import type { NatsTrust, Revocations } from "./trust.ts";

/** What a private server needs. */
export interface NatsServerOptions {
  /** Holds the configuration, accounts, JetStream store and pid file. */
  readonly dataDir: string;
  readonly trust: NatsTrust;
  /** 0: any free port. */
  readonly port: number;
  readonly websocketPort: number;
  /** All revoked nodes; when left out, what the server was told last stays in force. */
  readonly revocations?: Revocations;
  readonly clock: Clock;
  readonly log?: BusLog;
  /** Path of the nats-server program. */
  readonly binary: string;
}

/** A running private server. */
export interface NatsServer {
  readonly url: string;
  readonly websocketUrl: string;
  readonly pid: number;
  readonly version: string;
  /** Settles when the process has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Stops it; idempotent. */
  stop(): Promise<void>;
}

interface Ports {
  readonly nats: string;
  readonly websocket: string;
}

const START_MS = 15_000;
const KEPT_LINES = 20;

/** Starts a server and resolves when it accepts connections. */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const { dataDir, clock } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = takeLock(join(dataDir, "lock"), "nats-server");
  try {
    await stopOrphan(dataDir, clock);
    const config = await writeServerConfig(options.trust, {
      dir: dataDir,
      storeDir: join(dataDir, "store"),
      port: options.port,
      websocketPort: options.websocketPort,
      ...(options.revocations !== undefined && { revocations: options.revocations }),
    });
    return await launch(options, config, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function launch(options: NatsServerOptions, config: string, lock: HeldLock): Promise<NatsServer> {
  const { clock } = options;
  const child = spawn(options.binary, ["-c", config], { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const lines = collectLines(child, options.log);
  const exited = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
  });
  const { pid } = child;
  if (pid === undefined) {
    await exited;
    throw new MeshError(
      "failed_precondition",
      `cannot start ${options.binary}: install nats-server with deploy/install-nats.sh`,
    );
  }
  const guard = spawnGuard(pid);
  void exited.then(() => {
    guard.kill("SIGKILL");
    lock.release();
  });
  const stop = async (): Promise<void> => {
    await stopProcess(pid, exited, clock);
  };
  try {
    // The server names the file after its program.
    const portsFile = join(options.dataDir, `${basename(options.binary)}_${pid}.ports`);
    const ports = await waitUntilReady(portsFile, exited, clock);
    const version = await serverVersion(ports.nats, clock);
    return { url: ports.nats, websocketUrl: ports.websocket, pid, version, exited, stop };
  } catch (error) {
    await stop();
    const said = lines.length === 0 ? "" : `; it said: ${lines.join(" | ")}`;
    throw new MeshError("failed_precondition", `nats-server did not start${said}`, { cause: error });
  }
}

// EOF on its input means the owner is gone; the kernel closes the pipe even after kill -9.
function spawnGuard(pid: number): ChildProcess {
  const guard = spawn("/bin/sh", ["-c", 'read -r _; kill -TERM "$1"', "guard", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.on("error", () => undefined);
  guard.stdin?.on("error", () => undefined);
  guard.unref();
  return guard;
}

async function waitUntilReady(path: string, exited: Promise<void>, clock: Clock): Promise<Ports> {
  const end = clock.monotonic() + START_MS;
  const exit = new AbortController();
  void exited.then(() => exit.abort());
  while (!exit.signal.aborted && clock.monotonic() < end) {
    const ports = readPorts(path);
    if (ports !== undefined) {
      rmSync(path, { force: true });
      return ports;
    }
    await clock.sleep(10, exit.signal);
  }
  throw new MeshError(
    "unavailable",
    exit.signal.aborted ? "nats-server ended at once" : "nats-server is not ready in time",
  );
}

function readPorts(path: string): Ports | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (!isObject(parsed)) return undefined;
    const first = (value: unknown): string => (Array.isArray(value) ? String(value[0] ?? "") : "");
    const ports = { nats: first(parsed["nats"]), websocket: first(parsed["websocket"]) };
    return ports.nats === "" || ports.websocket === "" ? undefined : ports;
  } catch {
    // Not there yet, or half written.
    return undefined;
  }
}

async function serverVersion(url: string, clock: Clock): Promise<string> {
  const limit = new AbortController();
  const cancel = clock.after(START_MS, () => limit.abort());
  try {
    const { stream, head } = await dialServer(url, undefined, limit.signal);
    stream.destroy();
    return /"version":\s*"([^"]+)"/.exec(Buffer.from(head).toString("utf8"))?.[1] ?? "";
  } finally {
    cancel();
  }
}

async function stopOrphan(dataDir: string, clock: Clock): Promise<void> {
  const pid = readPid(join(dataDir, "nats.pid"));
  if (pid === undefined || !runsWith(pid, join(dataDir, "nats.conf"))) return;
  const gone = (async () => {
    while (isRunning(pid)) await clock.sleep(20);
  })();
  await stopProcess(pid, gone, clock);
}

function readPid(path: string): number | undefined {
  try {
    const pid = Number(readFileSync(path, "utf8").trim());
    return Number.isInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

// Keeps the last lines for the error of a failed start; warnings and errors go to the log.
function collectLines(child: ChildProcess, log: BusLog | undefined): string[] {
  const kept: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      const text = line.slice(0, 500).replace(/^\[\d+\]\s*/, "");
      if (kept.push(text) > KEPT_LINES) kept.shift();
      if (/\[(WRN|ERR|FTL)\]|^nats-server:/.test(text)) log?.("nats_server_said", { line: text });
    });
  }
  return kept;
}
