/**
 * The MCP servers of one workspace's runner.
 *
 * Equal configurations share one client and so one server process; a configuration with another secret or another command is
 * another server. The number of servers that run at once is bounded: the one unused for longest makes room.
 */

import { type Clock, inheritedEnv, MeshError } from "@mesh/kernel";

import { McpClient } from "./client.ts";
import { type CallProcess, ProcessSession } from "./process-session.ts";
import type { SessionTransport } from "./sdk-session.ts";
import { configDigest, configUrl, type McpServerConfig, misconfigured } from "./server-config.ts";
import type { McpSession, SessionEvents } from "./session.ts";
import type { McpLog } from "./session-keeper.ts";
import type { StdioTransport } from "./stdio-transport.ts";

/** What the clients use. `Caller` is who a call is made for: its run, user and chat. */
export interface McpClientsDeps<Caller> {
  readonly clock: Clock;
  /** Calls a process of the caller's app; the caller's context is appended by whoever implements this. */
  readonly callProcess: CallProcess<Caller>;
  /** The environment of this process; servers see an allow list of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables by which the processes of servers are found again when this process is gone. */
  readonly mark?: Readonly<Record<string, string>> | undefined;
  /** Where `stdio` servers start. */
  readonly cwd?: string | undefined;
  readonly fetch: typeof fetch;
  readonly log?: McpLog | undefined;
  /** How we introduce ourselves. */
  readonly clientInfo: { readonly name: string; readonly version: string };
}

/** Bounds; each has a default. */
export interface McpClientsOptions {
  /** Of one call, without an answer or progress. */
  readonly callTimeoutMs?: number;
  /** Of a start: a package runner may have to download the server first. */
  readonly startTimeoutMs?: number;
  /** After which an unused server is stopped. */
  readonly idleMs?: number;
  readonly maxMessageBytes?: number;
  readonly maxRunning?: number;
}

const DEFAULTS = {
  callTimeoutMs: 30_000,
  startTimeoutMs: 60_000,
  idleMs: 300_000,
  maxMessageBytes: 16 * 1024 * 1024,
  maxRunning: 32,
} as const;
/** Clients remembered; those of replaced apps are forgotten, oldest first. */
const MAX_CLIENTS = 256;

/** All clients of a workspace. */
export class McpClients<Caller> {
  readonly #deps: McpClientsDeps<Caller>;
  readonly #options: Required<McpClientsOptions>;
  /** By digest, the one asked for last at the end. */
  readonly #clients = new Map<string, McpClient<Caller>>();
  readonly #children = new Set<StdioTransport>();
  #isClosed = false;

  constructor(deps: McpClientsDeps<Caller>, options: McpClientsOptions = {}) {
    this.#deps = deps;
    this.#options = { ...DEFAULTS, ...options };
  }

  /** The client of a server; nothing is started yet. */
  get(config: McpServerConfig): McpClient<Caller> {
    if (this.#isClosed) throw closed();
    const digest = configDigest(config);
    const client = this.#clients.get(digest) ?? this.#create(config);
    this.#clients.delete(digest);
    this.#clients.set(digest, client);
    this.#forgetOldest();
    return client;
  }

  /** Stops every server; resolves when all their processes are gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#clients.values()].map((client) => client.keeper.close()));
  }

  /** Kills every server process at once, without waiting: for a runner that is about to end. */
  kill(): void {
    this.#isClosed = true;
    for (const child of this.#children) child.kill();
  }

  #create(config: McpServerConfig): McpClient<Caller> {
    const { clock, log = () => undefined } = this.#deps;
    const { callTimeoutMs, idleMs } = this.#options;
    const client: McpClient<Caller> = new McpClient<Caller>(
      config,
      {
        clock,
        log,
        open: (events, signal) => this.#open(config, events, signal),
        admit: () => this.#makeRoomFor(client),
      },
      { callTimeoutMs, idleMs },
    );
    return client;
  }

  async #open(config: McpServerConfig, events: SessionEvents, signal: AbortSignal): Promise<McpSession<Caller>> {
    const { clock, callProcess, clientInfo } = this.#deps;
    if (config.transport === "process") return new ProcessSession(config, { clock, callProcess });
    // The protocol's own library is large, and most apps use no server: it is loaded with the first one.
    const { SdkSession } = await import("./sdk-session.ts");
    const transport = await this.#transport(config);
    const bounds = { signal, timeoutMs: this.#options.startTimeoutMs };
    return SdkSession.open<Caller>(config.id, { clock, transport, events, clientInfo }, bounds);
  }

  async #transport(config: McpServerConfig): Promise<SessionTransport> {
    const { clock, cwd, fetch } = this.#deps;
    const { maxMessageBytes } = this.#options;
    switch (config.transport) {
      case "stdio": {
        const { command, arguments: args = [] } = config;
        if (command === undefined || command === "") throw misconfigured(config, `"command" is missing`);
        const { StdioTransport } = await import("./stdio-transport.ts");
        if (this.#isClosed) throw closed();
        const env = { ...inheritedEnv(this.#deps.env), ...config.env, ...this.#deps.mark };
        const child = new StdioTransport({ command, args, env, cwd, maxMessageBytes }, clock);
        this.#children.add(child);
        void child.gone.then(() => this.#children.delete(child));
        return child;
      }
      case "http":
      case "sse": {
        const { transport: kind, authorization_token: authorizationToken } = config;
        const { HttpTransport } = await import("./http-transport.ts");
        return new HttpTransport(
          { kind, url: configUrl(config), authorizationToken, maxMessageBytes },
          { clock, fetch },
        );
      }
      default:
        throw misconfigured(config, `"transport" must be process, stdio, http or sse`);
    }
  }

  async #makeRoomFor(client: McpClient<Caller>): Promise<void> {
    if (client.config.transport === "process") return;
    const others = [...this.#clients.values()].filter(
      (other) => other !== client && other.config.transport !== "process" && other.keeper.isRunning,
    );
    if (others.length < this.#options.maxRunning) return;
    const idle = others
      .filter(({ keeper }) => !keeper.isBusy)
      .toSorted((a, b) => a.keeper.usedAtMs - b.keeper.usedAtMs);
    const oldest = idle[0];
    if (oldest === undefined) {
      const text = `${others.length} MCP servers of this workspace are in use; "${client.config.id}" cannot be started now`;
      throw new MeshError("resource_exhausted", text);
    }
    await oldest.keeper.stop();
  }

  #forgetOldest(): void {
    for (const [digest, { keeper }] of this.#clients) {
      if (this.#clients.size <= MAX_CLIENTS) return;
      if (keeper.isRunning || keeper.isBusy) continue;
      this.#clients.delete(digest);
      void keeper.close();
    }
  }
}

function closed(): MeshError {
  return new MeshError("failed_precondition", "the runner is being stopped");
}
