/**
 * One MCP server as callers use it; its session is kept by {@link SessionKeeper}.
 *
 * C1  Arguments are checked against the tool's schema before anything is sent, structured answers after they came.
 * C2  Lists are followed to their end and kept until the server says that they changed, or its session ends.
 * C3  Each call has a time without answer or progress after which it fails, and a signal that ends it; the server is told.
 */

import { type ErrorCode, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { schemaFaults } from "./argument-check.ts";
import { sharedWait } from "./deadline.ts";
import { listAll } from "./list-all.ts";
import { configTimeoutMs, type McpServerConfig } from "./server-config.ts";
import type {
  Exchange,
  ListKind,
  McpLists,
  McpProgress,
  McpPromptResult,
  McpReadResult,
  McpSession,
  McpTool,
  McpToolResult,
} from "./session.ts";
import { SessionKeeper, type SessionKeeperDeps } from "./session-keeper.ts";
import { parseToolResult } from "./tool-result.ts";

/** Who calls and within which bounds. */
export interface McpCallOptions<Caller> {
  readonly caller: Caller;
  readonly signal?: AbortSignal | undefined;
  /** How long without an answer or progress; the server's own `timeout` when absent, else 30 s. */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: ((progress: McpProgress) => void) | undefined;
}

/** A list under the name the protocol gives it; `nextCursor` only when a page was asked for. */
export type McpListResult<Kind extends ListKind> = {
  readonly [Name in Kind]: readonly McpLists[Kind][];
} & { readonly nextCursor?: string | undefined };

/** Bounds of a client. */
export interface McpClientLimits {
  readonly callTimeoutMs: number;
  readonly idleMs: number;
}

const MAX_NAMED_TOOLS = 20;
const MAX_CALL_MS = 3_600_000;

/** A client of one server, shared by all callers of a workspace. */
export class McpClient<Caller> {
  readonly config: McpServerConfig;
  readonly #keeper: SessionKeeper<Caller>;
  readonly #callTimeoutMs: number;
  readonly #lists = new Map<ListKind, Promise<readonly McpLists[ListKind][]>>();

  constructor(config: McpServerConfig, deps: Omit<SessionKeeperDeps<Caller>, "changed">, limits: McpClientLimits) {
    this.config = config;
    this.#callTimeoutMs = configTimeoutMs(config) ?? limits.callTimeoutMs;
    const changed = (kind: ListKind | "all"): void => {
      if (kind === "all") this.#lists.clear();
      else this.#lists.delete(kind);
    };
    this.#keeper = new SessionKeeper(config.id, { ...deps, changed }, limits.idleMs);
  }

  /** Its session, for the one who decides which servers may run. */
  get keeper(): Pick<SessionKeeper<Caller>, "isRunning" | "isBusy" | "usedAtMs" | "stop" | "close"> {
    return this.#keeper;
  }

  /** All items of a list, or the page at a cursor. */
  async list<Kind extends ListKind>(
    kind: Kind,
    options: McpCallOptions<Caller>,
    cursor?: string,
  ): Promise<McpListResult<Kind>> {
    return this.#use(options, async (session, exchange) => {
      const page =
        cursor === undefined || cursor === ""
          ? { items: await this.#all(kind, session, exchange) }
          : await session.list(kind, cursor, exchange);
      return {
        [kind]: page.items,
        ...("nextCursor" in page ? { nextCursor: page.nextCursor } : {}),
      } as McpListResult<Kind>;
    });
  }

  /** Calls a tool and returns its answer as a value; a tool that says it failed is an answer as well. */
  async callTool(name: string, args: unknown, options: McpCallOptions<Caller>): Promise<Json> {
    return parseToolResult(await this.callToolRaw(name, args, options));
  }

  /** Calls a tool and returns its answer as the server gave it. */
  async callToolRaw(name: string, args: unknown, options: McpCallOptions<Caller>): Promise<McpToolResult> {
    const given = args ?? {};
    if (!isObject(given)) throw this.#error("invalid_argument", `the arguments of tool "${name}" must be an object`);
    return this.#use(options, async (session, exchange) => {
      const tool = await this.#tool(name, session, exchange);
      const faults = schemaFaults(tool.inputSchema, given);
      if (faults.length > 0) {
        throw this.#error("invalid_argument", `arguments of tool "${name}" are wrong: ${faults.join("; ")}`);
      }
      const result = await session.callTool(tool, given as JsonObject, exchange);
      this.#checkAnswer(tool, result);
      return result;
    });
  }

  /** Reads a resource. */
  readResource(uri: string, options: McpCallOptions<Caller>): Promise<McpReadResult> {
    return this.#use(options, (session, exchange) => session.readResource(uri, exchange));
  }

  /** Gets a prompt with its arguments filled in. */
  getPrompt(name: string, args: JsonObject, options: McpCallOptions<Caller>): Promise<McpPromptResult> {
    return this.#use(options, (session, exchange) => session.getPrompt(name, args, exchange));
  }

  /** The samples that came with a tool or a resource. */
  listSamples(type: string, name: string): { readonly samples: readonly JsonObject[] } {
    const { mapping } = this.config;
    if (type !== "tool" && type !== "resource") {
      throw this.#error("invalid_argument", `samples are of a "tool" or a "resource", not of "${type}"`);
    }
    const entries = type === "tool" ? mapping?.tools : mapping?.resources;
    const entry = entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined;
    return { samples: entry?.samples ?? [] };
  }

  /** One sample by its index, from 0. */
  getSample(type: string, name: string, index: number): JsonObject {
    const { samples } = this.listSamples(type, name);
    const sample = samples[index];
    if (sample !== undefined) return sample;
    throw this.#error(
      "not_found",
      `${type} "${name}" has ${samples.length} samples, so there is none at index ${index}`,
    );
  }

  #use<T>(
    options: McpCallOptions<Caller>,
    work: (session: McpSession<Caller>, exchange: Exchange<Caller>) => Promise<T>,
  ): Promise<T> {
    const { caller, onProgress, signal = this.#keeper.signal, timeoutMs = this.#callTimeoutMs } = options;
    const exchange = { caller, signal, timeoutMs: Math.min(timeoutMs, MAX_CALL_MS), onProgress };
    return this.#keeper.use(signal, (session) => work(session, exchange));
  }

  /** The whole list, fetched once for all who ask at the same time. */
  #all<Kind extends ListKind>(
    kind: Kind,
    session: McpSession<Caller>,
    exchange: Exchange<Caller>,
  ): Promise<readonly McpLists[Kind][]> {
    const what = `${this.#name} (list of ${kind})`;
    let list = this.#lists.get(kind) as Promise<readonly McpLists[Kind][]> | undefined;
    if (list === undefined) {
      // Not the asker's own exchange: others wait for this as well.
      const shared = { caller: undefined, signal: this.#keeper.signal, timeoutMs: this.#callTimeoutMs };
      const fetched = listAll((cursor) => session.list(kind, cursor, shared), what);
      list = fetched;
      this.#lists.set(kind, fetched);
      fetched.catch(() => {
        if (this.#lists.get(kind) === fetched) this.#lists.delete(kind);
      });
    }
    return sharedWait(list, exchange.signal, what);
  }

  async #tool(name: string, session: McpSession<Caller>, exchange: Exchange<Caller>): Promise<McpTool> {
    const known = await this.#all("tools", session, exchange);
    const tool = known.find((candidate) => candidate.name === name);
    if (tool !== undefined) return tool;
    // Not every server says that its list changed.
    this.#lists.delete("tools");
    const fresh = await this.#all("tools", session, exchange);
    const added = fresh.find((candidate) => candidate.name === name);
    if (added !== undefined) return added;
    const names = fresh.slice(0, MAX_NAMED_TOOLS).map((candidate) => candidate.name);
    const some = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
    throw this.#error("not_found", `there is no tool "${name}"; ${some}${fresh.length > MAX_NAMED_TOOLS ? ", …" : ""}`);
  }

  #checkAnswer(tool: McpTool, result: McpToolResult): void {
    if (tool.outputSchema === undefined || result.structuredContent === undefined || result.isError === true) return;
    const faults = schemaFaults(tool.outputSchema, result.structuredContent);
    if (faults.length === 0) return;
    throw this.#error("data_loss", `tool "${tool.name}" did not answer as its schema promises: ${faults.join("; ")}`);
  }

  #error(code: ErrorCode, text: string): MeshError {
    return new MeshError(code, `${this.#name}: ${text}`);
  }

  get #name(): string {
    return `MCP server "${this.config.id}"`;
  }
}
