/** A small server of the tests, and ways to reach it without a network. */

import { PassThrough } from "node:stream";

import { type Clock, MeshError, systemClock } from "@mesh/kernel";

import { McpClients } from "../clients.ts";
import type { McpHttp, McpHttpOptions } from "../serve-http.ts";
import { createMcpServer } from "../server.ts";
import type { McpServed, McpServerDefinition } from "../server-definition.ts";
import type { StdioStreams } from "../serve-stdio.ts";

/** What the tools of a test saw and did. */
export interface OfferSeen {
  readonly callers: string[];
  /** Signals of calls of the tool `wait`, in order. */
  readonly waiting: AbortSignal[];
  /** Lets a call of the tool `hold` answer, in order. */
  readonly release: (() => void)[];
}

/** Tools: `whoami`, `add`, `wait` (never answers), `hold` (answers when told to), `fail` (throws), `count` (reports progress). */
export function offerFixture(): { readonly definition: McpServerDefinition<string>; readonly seen: OfferSeen } {
  const seen: OfferSeen = { callers: [], waiting: [], release: [] };
  const numbers = {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  };
  const definition: McpServerDefinition<string> = {
    name: "fixture",
    version: "1.0.0",
    instructions: "Add numbers.",
    listTools: () =>
      Promise.resolve([
        { name: "add", description: "Adds", inputSchema: numbers },
        ...["whoami", "wait", "hold", "fail", "secret", "count"].map((name) => ({
          name,
          inputSchema: { type: "object" },
        })),
      ]),
    callTool: async (name, args, served) => {
      seen.callers.push(served.caller);
      switch (name) {
        case "add":
          return text(String(Number(args["a"]) + Number(args["b"])));
        case "wait":
          seen.waiting.push(served.signal);
          return new Promise((_resolve, reject) => {
            served.signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
          });
        case "hold":
          await new Promise<void>((resolve) => {
            seen.release.push(resolve);
          });
          return text("held");
        case "fail":
        case "secret":
          return failing(name);
        case "count":
          return count(served);
        default:
          return text(served.caller);
      }
    },
  };
  return { definition, seen };
}

function text(value: string): { content: [{ type: "text"; text: string }] } {
  return { content: [{ type: "text", text: value }] };
}

function failing(name: string): never {
  if (name === "fail") throw new MeshError("failed_precondition", "the printer is out of paper");
  throw new Error("password=hunter2");
}

function count({ progress }: McpServed<string>): { content: [{ type: "text"; text: string }] } {
  for (const done of [1, 2, 3]) progress({ progress: done, total: 3 });
  return text("counted");
}

/** A handler of a definition; callers are their own keys. */
export function httpOf(
  definition: McpServerDefinition<string>,
  options: Partial<McpHttpOptions<string>> = {},
  clock: Clock = systemClock,
): McpHttp<string> {
  return createMcpServer(definition).http({ clock }, { callerKey: (caller) => caller, ...options });
}

/** `fetch` that asks a handler as the given caller. */
export function fetchOf(http: McpHttp<string>, caller: string): typeof fetch {
  return async (input, init) => http.handle(new Request(input, init), caller);
}

/** Our clients over a `fetch`. */
export function clientsOver(fetch: typeof globalThis.fetch, clock: Clock = systemClock): McpClients<string> {
  const callProcess = (): Promise<unknown> => Promise.resolve(null);
  return new McpClients<string>({ clock, fetch, callProcess, env: {}, clientInfo: { name: "test", version: "1" } });
}

/** Two ends of a pair of streams. */
export function streamPair(): { readonly ours: StdioStreams; readonly theirs: StdioStreams } {
  const [up, down] = [new PassThrough(), new PassThrough()];
  return { ours: { input: up, output: down }, theirs: { input: down, output: up } };
}
