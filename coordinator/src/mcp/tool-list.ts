/** The tools of an assistant under the names its MCP clients see, and the lists that were asked for lately. */

import { type Clock, isObject, type JsonObject } from "@mesh/kernel";
import { type McpTool, type ToolAddress, ToolNames } from "@mesh/mcp";

/** Name of the tool that is the assistant itself. */
export const ASK_TOOL = "ask";

/** Tools by the names clients see. */
export interface ToolList {
  readonly tools: readonly McpTool[];
  readonly addressOf: (name: string) => ToolAddress | undefined;
}

const MAX_TOOLS = 1000;

/** Names what a device told about an assistant's tools; entries that are none are left out. */
export function nameTools(told: unknown): ToolList {
  const entries = (Array.isArray(told) ? told : []).filter(isEntry).slice(0, MAX_TOOLS);
  // Which of two tools gets the plain name must not depend on which server answered first.
  const sorted = entries.toSorted((a, b) => compare(a.server, b.server) || compare(a.tool, b.tool));
  const names = new ToolNames([ASK_TOOL]);
  const tools = sorted.map(({ server, tool, description, input_schema: schema }): McpTool => ({
    name: names.encode(server, tool),
    description: typeof description === "string" && description !== "" ? description : `${tool} of ${server}`,
    // Clients refuse a whole list for one schema that is not of an object.
    inputSchema: { ...schema, type: "object" },
  }));
  return { tools, addressOf: (name) => names.decode(name) };
}

interface Entry extends ToolAddress {
  readonly description?: unknown;
  readonly input_schema: JsonObject;
}

function isEntry(value: unknown): value is Entry {
  return (
    isObject(value) &&
    typeof value["server"] === "string" &&
    typeof value["tool"] === "string" &&
    isObject(value["input_schema"])
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

interface Kept {
  readonly list: Promise<ToolList>;
  readonly untilMs: number;
}

const KEEP_MS = 30_000;
const MAX_KEPT = 500;

/** Lists for a short time, so that a client that lists and then calls asks a device once. */
export class ToolLists {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The list under a key; `load` is called when none is kept. Failures are not kept. */
  get(key: string, load: () => Promise<ToolList>): Promise<ToolList> {
    const nowMs = this.#clock.monotonic();
    const known = this.#kept.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known.list;
    const kept = { list: load(), untilMs: nowMs + KEEP_MS };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    kept.list.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return kept.list;
  }
}
