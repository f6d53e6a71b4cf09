/**
 * A lean HTTP and SSE client on kept-alive connections. The client shares the machine with what it measures, and `fetch`
 * would take more of it than the gateway does.
 */

import { Agent, type IncomingMessage, request } from "node:http";

import { nowMs } from "./sample.ts";

/** What one run took, from the moment its request was due. */
export interface RunTimes {
  /** The first event that the device sent has arrived. */
  readonly firstMs: number;
  /** The terminal event has arrived. */
  readonly endMs: number;
}

/** Receives each event of a stream: its kind and the unparsed JSON. */
export type OnEvent = (kind: string, data: string) => void;

/** See the head of this file. */
export class RunClient {
  readonly #url: URL;
  readonly #token: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Infinity });

  constructor(url: string, token: string) {
    this.#url = new URL(url);
    this.#token = token;
  }

  /** Creates a run and returns its id. */
  async createRun(wish: {
    readonly input: string;
    readonly labels: Readonly<Record<string, string>>;
  }): Promise<string> {
    const body = { assistant: "hello", input: wish.input, requirements: { labels: wish.labels } };
    const { run } = await this.post<{ run: { id: string } }>("/v1/workspaces/default/runs", body);
    return run.id;
  }

  /** Sends JSON and returns the parsed answer. */
  async post<T>(path: string, body: unknown): Promise<T> {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) };
    const response = await this.#send("POST", path, headers, text);
    const answer = await textOf(response);
    if ((response.statusCode ?? 500) >= 300) throw new Error(`POST ${path}: ${response.statusCode} ${answer}`);
    return JSON.parse(answer) as T;
  }

  /** Follows a run from its first event; resolves with the parsed terminal event's state. */
  async follow(runId: string, onEvent: OnEvent): Promise<string> {
    const response = await this.#send("GET", `/v1/runs/${runId}/events`, { accept: "text/event-stream" });
    if (response.statusCode !== 200)
      throw new Error(`events of ${runId}: ${response.statusCode} ${await textOf(response)}`);
    return new Promise((resolve, reject) => {
      let buffer = "";
      let state = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        buffer += chunk;
        for (let end = buffer.indexOf("\n\n"); end >= 0; end = buffer.indexOf("\n\n")) {
          const { kind, data } = parseFrame(buffer.slice(0, end));
          buffer = buffer.slice(end + 2);
          if (kind === "run.finished") state = stateOf(data);
          if (kind !== "" && kind !== "end") onEvent(kind, data);
        }
      });
      response.once("end", () => (state === "" ? reject(new Error(`the stream of ${runId} was cut`)) : resolve(state)));
      response.once("error", reject);
    });
  }

  /** Creates a run, follows it at once and measures both from `startMs`. */
  async measureRun(startMs: number, labels: Readonly<Record<string, string>>): Promise<RunTimes> {
    const runId = await this.createRun({ input: "/noop", labels });
    let firstMs = 0;
    let endMs = 0;
    const state = await this.follow(runId, (kind) => {
      if (kind === "run.accepted" && firstMs === 0) firstMs = nowMs() - startMs;
      if (kind === "run.finished") endMs = nowMs() - startMs;
    });
    if (state !== "succeeded") throw new Error(`run ${runId} ended as ${state}`);
    return { firstMs, endMs };
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = request({
        agent: this.#agent,
        host: this.#url.hostname,
        port: this.#url.port,
        method,
        path,
        headers: { authorization: `Bearer ${this.#token}`, ...headers },
      });
      outgoing.once("response", resolve);
      outgoing.once("error", reject);
      outgoing.end(body);
    });
  }
}

function parseFrame(frame: string): { kind: string; data: string } {
  let kind = "";
  let data = "";
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  return { kind, data };
}

function stateOf(data: string): string {
  const event = JSON.parse(data) as { data?: { state?: string } };
  return event.data?.state ?? "unknown";
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
