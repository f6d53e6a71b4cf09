/** What files say about each other: servers, tools, models and scripts that are named and do not exist. */

import { nearestName } from "@mesh/kernel";

import type { App } from "./app.ts";
import type { Assistant } from "./assistant.ts";
import type { Loading } from "./loading.ts";
import { findMcpServer, findMcpUse, type McpServerFile, mcpUseName } from "./mcp-server-file.ts";
import { MAX_SERVER_REFS, mcpServerRefs } from "./mcp-server-ref.ts";
import type { ProblemLog } from "./problem-log.ts";
import { entryOf, plainJson, type SourceEntry, type SourceNode } from "./source-node.ts";

/** Models of the system are not files of an app. */
const SYSTEM_PREFIX = "__yao.";

/** A guess is a courtesy that costs time: a hostile app gets no more of them. */
const MAX_GUESSES = 50;
const MAX_CANDIDATES = 1000;
const MAX_SHOWN = 120;
const KINDS = ["tools", "resources", "prompts"] as const;

/** Reports names that lead nowhere. */
export function checkReferences(app: App, loading: Loading): void {
  const check = new ReferenceCheck(app, loading);
  for (const assistant of app.assistants.values()) check.assistant(assistant);
  for (const server of app.mcpServers.values()) if (server.transport === "process") check.server(server);
}

/** Where a name was written. */
interface Place {
  readonly file: string;
  readonly line: number;
}

class ReferenceCheck {
  readonly #app: App;
  readonly #log: ProblemLog;
  readonly #roots: Loading["roots"];
  #guessCount = 0;

  constructor(app: App, loading: Loading) {
    this.#app = app;
    this.#log = loading.log;
    this.#roots = loading.roots;
  }

  assistant(assistant: Assistant): void {
    const file = `${assistant.folder}/package.yao`;
    const root = this.#roots.get(file);
    const servers = entryOf(entryOf(root, "mcp")?.value, "servers")?.value;
    // More are not used either.
    for (const node of itemsOf(servers).slice(0, MAX_SERVER_REFS)) this.#serverRef(assistant, file, node);
    const models = entryOf(entryOf(root, "db")?.value, "models")?.value;
    for (const node of itemsOf(models)) this.#modelRef(assistant, file, node);
    for (const { value } of entriesOf(entryOf(root, "uses")?.value)) this.#use(assistant, file, value);
  }

  server(server: McpServerFile): void {
    const root = this.#roots.get(server.path);
    for (const kind of KINDS) {
      for (const { key, line, value } of entriesOf(entryOf(root, kind)?.value)) {
        const fault = value.kind === "string" ? this.#processFault(value.value) : undefined;
        if (fault !== undefined) this.#log.warn(server.path, line, `${kind}.${shown(key)}: ${fault}`);
        if (kind === "tools" && !Object.hasOwn(server.mapping.tools, key)) {
          const advice = `without mapping/…/schemes/${shown(key)}.in.yao the model has to guess its arguments`;
          this.#log.warn(server.path, line, `tools.${shown(key)} has no description: ${advice}`);
        }
      }
      for (const name of Object.keys(server.mapping[kind])) {
        if (Object.hasOwn(server[kind] ?? {}, name)) continue;
        this.#log.warn(server.path, 0, `mapping describes ${shown(name)}, which is not among its ${kind}`);
      }
    }
  }

  #serverRef(assistant: Assistant, file: string, node: SourceNode): void {
    for (const { serverId, tools } of mcpServerRefs([plainJson(node)])) {
      const server = findMcpServer(this.#app, assistant.id, serverId);
      if (server === undefined) this.#unknownServer({ file, line: node.line }, serverId);
      else if (server.transport === "process") this.#unknownTools({ file, line: node.line }, server, tools ?? []);
    }
  }

  #modelRef(assistant: Assistant, file: string, node: SourceNode): void {
    const fault = node.kind === "string" ? this.#modelFault(node.value, `agents.${assistant.id}.`) : undefined;
    if (fault !== undefined) this.#log.warn(file, node.line, fault);
  }

  #use(assistant: Assistant, file: string, node: SourceNode): void {
    const name = node.kind === "string" ? mcpUseName(node.value) : undefined;
    if (name === undefined || findMcpUse(this.#app, assistant.id, `mcp:${name}`) !== undefined) return;
    this.#unknownServer({ file, line: node.line }, name);
  }

  #unknownServer({ file, line }: Place, serverId: string): void {
    const guess = this.#guess(
      () => [...this.#app.mcpServers.keys()],
      (ids) => nearestName(serverId, ids) ?? ids.find((id) => id.startsWith(`${serverId}.`)),
    );
    const advice = guess === undefined ? "add the file or a server of the workspace" : `did you mean ${guess}?`;
    this.#log.warn(file, line, `this app has no MCP server ${shown(serverId)}; ${advice}`);
  }

  #unknownTools({ file, line }: Place, server: McpServerFile, tools: readonly string[]): void {
    const known = server.tools ?? {};
    const unknown = tools.filter((tool) => !Object.hasOwn(known, tool));
    if (unknown.length === 0) return;
    const names = Object.keys(known).slice(0, MAX_CANDIDATES);
    const offer = `it has ${shown(names.join(", "))}`;
    for (const tool of unknown) {
      const guess = this.#guess(
        () => names,
        (candidates) => nearestName(tool, candidates),
      );
      const advice = guess === undefined ? offer : `did you mean ${guess}?`;
      this.#log.warn(file, line, `${server.path} has no tool ${shown(tool)}; ${advice}`);
    }
  }

  /** What may have been meant, as long as guesses are left. */
  #guess(
    candidates: () => readonly string[],
    choose: (candidates: readonly string[]) => string | undefined,
  ): string | undefined {
    this.#guessCount += 1;
    return this.#guessCount > MAX_GUESSES ? undefined : choose(candidates().slice(0, MAX_CANDIDATES));
  }

  /** Why a process cannot be called; undefined when it can, or is none of the app's. */
  #processFault(process: string): string | undefined {
    const owner = process.slice(0, Math.max(0, process.lastIndexOf(".")));
    if (owner.startsWith("models.")) return this.#modelFault(owner.slice("models.".length));
    if (!process.startsWith("scripts.") && !process.startsWith("agents.")) return undefined;
    return this.#app.scripts.has(owner) ? undefined : `there is no script ${shown(owner)}`;
  }

  #modelFault(name: string, ownPrefix = ""): string | undefined {
    const { models } = this.#app;
    if (name.startsWith(SYSTEM_PREFIX) || models.has(name) || models.has(ownPrefix + name)) return undefined;
    return `this app has no model ${shown(name)}`;
  }
}

function itemsOf(node: SourceNode | undefined): readonly SourceNode[] {
  return node?.kind === "list" ? node.items : [];
}

function entriesOf(node: SourceNode | undefined): readonly SourceEntry[] {
  return node?.kind === "object" ? node.entries : [];
}

function shown(name: string): string {
  return name.length <= MAX_SHOWN ? name : `${name.slice(0, MAX_SHOWN)}…`;
}
