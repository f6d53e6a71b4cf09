/**
 * One MCP client on a pair of streams, served by the coordinator's MCP endpoint over HTTP.
 *
 * B1  What goes to the output is messages of the protocol, one a line, and nothing else.
 * B2  Every request is answered exactly once: by the coordinator, or by an error that says what to do. One that the client
 *     cancelled is not answered, and its connection is closed, which ends its run.
 * B3  Lines, and the number of requests that are open, are bounded.
 */

import { type Clock, isObject, MeshError } from "@mesh/kernel";
import { createParser } from "eventsource-parser";

import type { Client } from "../client/client.ts";
import { errorOfNetwork } from "../client/problem.ts";
import { oneLine } from "../terminal/terminal.ts";

/** What the bridge works with. */
export interface McpBridgeDeps {
  readonly client: Pick<Client, "open" | "url">;
  readonly clock: Clock;
  /** Takes one message as JSON. */
  readonly write: (message: string) => void;
  /** Told what the client cannot be told: a message that was no request could not be delivered. */
  readonly warn: (text: string) => void;
}

/** Where messages go. */
export interface McpBridgeOptions {
  readonly path: string;
  /** The device that tools must run on. */
  readonly node?: string | undefined;
}

type Message = Readonly<Record<string, unknown>>;
type RequestId = string | number;

interface Exchange {
  /** Requests that wait for an answer. */
  readonly ids: Set<RequestId>;
  readonly isInitialize: boolean;
  readonly controller: AbortController;
}

const MAX_OPEN = 256;
// The coordinator sends a comment every 15 s; three missed ones mean that the connection is dead.
const SILENCE_MS = 45_000;
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;
const RPC = { parse: -32_700, invalidRequest: -32_600, server: -32_000 } as const;

/** See the guarantees above. */
export class McpBridge {
  readonly #deps: McpBridgeDeps;
  readonly #options: McpBridgeOptions;
  readonly #open = new Set<Exchange>();
  /** Under way while `initialize` is: its answer tells how to send the others. */
  #opening: Promise<void> | undefined;
  #session: string | undefined;
  #protocol: string | undefined;

  constructor(deps: McpBridgeDeps, options: McpBridgeOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Takes one line of the client; resolves when what it asks has been answered. Never throws. */
  async take(line: string): Promise<void> {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      this.#fail([null], RPC.parse, "this line is not JSON");
      return;
    }
    const messages = (Array.isArray(message) ? message : [message]).filter(isObject);
    if (messages.length === 0 || typeof message !== "object" || message === null) {
      this.#fail([null], RPC.invalidRequest, "this line is not a JSON-RPC message");
      return;
    }
    const rest = messages.filter((each) => !this.#cancels(each));
    if (rest.length > 0) await this.#exchange(Array.isArray(message) ? rest : message, rest);
  }

  /** Ends all that is under way. */
  stop(): void {
    for (const { controller } of this.#open) controller.abort();
  }

  /** Closing the connection of a request is how the coordinator learns of it, whichever replica serves it. */
  #cancels({ method, params }: Message): boolean {
    if (method !== "notifications/cancelled") return false;
    const id = isObject(params) ? params["requestId"] : undefined;
    const found = [...this.#open].find(({ ids }) => ids.has(id as RequestId));
    found?.controller.abort();
    return true;
  }

  async #exchange(body: object, messages: readonly Message[]): Promise<void> {
    const exchange: Exchange = {
      ids: new Set(messages.flatMap(({ method, id }) => (method !== undefined && isRequestId(id) ? [id] : []))),
      isInitialize: messages.some(({ method }) => method === "initialize"),
      controller: new AbortController(),
    };
    if (this.#open.size >= MAX_OPEN) {
      this.#fail(exchange.ids, RPC.server, `${MAX_OPEN} requests are open; wait for their answers`);
      return;
    }
    this.#open.add(exchange);
    if (exchange.isInitialize) {
      this.#opening = this.#carry(body, exchange);
      await this.#opening;
    } else {
      await this.#opening;
      if (!exchange.controller.signal.aborted) await this.#carry(body, exchange);
    }
    this.#open.delete(exchange);
  }

  async #carry(body: object, exchange: Exchange): Promise<void> {
    try {
      await this.#send(body, exchange);
      if (exchange.ids.size > 0 && !exchange.controller.signal.aborted) {
        throw new MeshError(
          "unavailable",
          `${this.#deps.client.url} closed the connection before it answered; call again`,
        );
      }
    } catch (thrown) {
      if (exchange.controller.signal.aborted) return;
      const text = oneLine(MeshError.from(thrown).message);
      if (exchange.ids.size > 0) this.#fail(exchange.ids, RPC.server, text);
      else this.#deps.warn(text);
    }
  }

  async #send(body: object, exchange: Exchange): Promise<void> {
    const { client, clock } = this.#deps;
    const silence = new AbortController();
    const lost = (): void =>
      silence.abort(new MeshError("unavailable", `${client.url} went silent; call again, or run \`yao doctor\``));
    let cancelTimer = clock.after(SILENCE_MS, lost);
    const heard = (): void => {
      cancelTimer();
      cancelTimer = clock.after(SILENCE_MS, lost);
    };
    try {
      const signal = AbortSignal.any([exchange.controller.signal, silence.signal]);
      const response = await client.open("POST", this.#options.path, { body, headers: this.#headers(), signal });
      heard();
      if (exchange.isInitialize) this.#session = response.headers.get("mcp-session-id") ?? undefined;
      await this.#read(response, exchange, heard);
    } catch (thrown) {
      throw errorOfNetwork(silence.signal.aborted ? silence.signal.reason : thrown, client.url);
    } finally {
      cancelTimer();
    }
  }

  #headers(): Record<string, string> {
    const { node } = this.#options;
    return {
      accept: "application/json, text/event-stream",
      ...(node === undefined ? {} : { "yao-node": node }),
      ...(this.#session === undefined ? {} : { "mcp-session-id": this.#session }),
      ...(this.#protocol === undefined ? {} : { "mcp-protocol-version": this.#protocol }),
    };
  }

  async #read(response: Response, exchange: Exchange, heard: () => void): Promise<void> {
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent: ({ data }) => this.#received(data, exchange),
      maxBufferSize: MAX_MESSAGE_CHARS,
    });
    let whole = "";
    for await (const chunk of response.body ?? []) {
      heard();
      const text = decoder.decode(chunk, { stream: true });
      if (isStream) parser.feed(text);
      else whole += text;
      if (whole.length > MAX_MESSAGE_CHARS)
        throw new MeshError("resource_exhausted", "the answer is larger than 16 MB");
    }
    if (!isStream && whole !== "") this.#received(whole, exchange);
  }

  #received(data: string, exchange: Exchange): void {
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      // Priming events of streams are empty; what else is no JSON is no message either.
      return;
    }
    for (const each of Array.isArray(message) ? message : [message]) {
      if (!isObject(each)) continue;
      if (each["method"] === undefined && isRequestId(each["id"])) exchange.ids.delete(each["id"]);
      const result = each["result"];
      if (exchange.isInitialize && isObject(result) && typeof result["protocolVersion"] === "string") {
        this.#protocol = result["protocolVersion"];
      }
      // Written anew: a line end inside would break the message in two.
      if (!exchange.controller.signal.aborted) this.#deps.write(JSON.stringify(each));
    }
  }

  #fail(ids: Iterable<RequestId | null>, code: number, message: string): void {
    for (const id of ids) this.#deps.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
  }
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
