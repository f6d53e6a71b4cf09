/**
 * `/v1/ws`: the events of several runs and the changes of workspaces over one WebSocket.
 *
 * W1  Nothing is served before a valid token, in the Authorization header, as a page's session cookie, or as the first frame
 *     within 10 s.
 * W2  A subscription ends with `end` or `error`, each with its id; the same id may then be used again.
 * W3  A client that does not read is cut: more than 1 MB unsent for 10 s, or two pings without an answer.
 * W4  Close codes: 4401 token refused, 4408 no token in time, 4409 does not read, 4429 too many requests, 1012 stopping.
 */

import type { IncomingMessage } from "node:http";

import { type Clock, type Ids, isObject, MeshError } from "@mesh/kernel";
import { internalText } from "@mesh/rpc";
import { WebSocket, WebSocketServer } from "ws";

import type { Admission } from "./admission.ts";
import { type BrowserRequest, sessionOf } from "./browser.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Api, Call, Caller } from "./operation.ts";
import { openStream, type Operation, operationOf, validate } from "./operations.ts";
import { type ClientFrame, readFrame, type ServerFrame, type Subscribe } from "./socket-frame.ts";
import type { UpgradeHandler } from "./upgrade.ts";

/** What sockets need. */
export interface EventSocketDeps {
  readonly api: Api;
  readonly admission: Admission;
  readonly streams: OpenStreams;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What a session reads are runs, whose handler holds tokens to their assistants. */
const RUNS_ONLY = { knowsAssistants: true };
const MAX_FRAME_BYTES = 64 * 1024;
const MAX_SUBSCRIPTIONS = 100;
const MAX_BUFFERED_BYTES = 1024 * 1024;
const AUTH_MS = 10_000;
const PING_MS = 25_000;
const BLOCKED_MS = 10_000;
const POLL_MS = 20;
const LINGER_MS = 1_000;

/** All event sockets of this gateway. */
export class EventSockets {
  readonly #deps: EventSocketDeps;
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES, perMessageDeflate: false });
  readonly #open = new Set<EventSocket>();

  constructor(deps: EventSocketDeps) {
    this.#deps = deps;
  }

  /** Number of open sockets. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes over an upgrade request. */
  readonly handle: UpgradeHandler = (request, socket, head) => {
    this.#server.handleUpgrade(request, socket, head, (client) => {
      const connection = new EventSocket(client, request, this.#deps);
      this.#open.add(connection);
      client.once("close", () => this.#open.delete(connection));
      connection.start();
    });
  };

  /** Closes all sockets with the hint to come back. */
  stop(): void {
    for (const socket of this.#open) socket.close(1012, "the coordinator is stopping; connect again");
    this.#server.close();
  }

  /** Cuts the sockets that did not answer the close. */
  cut(): void {
    for (const socket of this.#open) socket.cut();
  }
}

interface Session {
  readonly caller: Caller;
  readonly token: string;
}

class EventSocket {
  readonly #client: WebSocket;
  readonly #request: IncomingMessage;
  readonly #deps: EventSocketDeps;
  readonly #requestId: string;
  readonly #subscriptions = new Map<string, AbortController>();
  #session: Session | undefined;
  #unanswered = 0;

  constructor(client: WebSocket, request: IncomingMessage, deps: EventSocketDeps) {
    this.#client = client;
    this.#request = request;
    this.#deps = deps;
    this.#requestId = deps.ids.next("req");
  }

  start(): void {
    const cancelAuth = this.#deps.clock.after(AUTH_MS, () => {
      if (this.#session === undefined) this.close(4408, "send the token first");
    });
    const cancelPing = this.#deps.clock.every(PING_MS, () => this.#ping());
    this.#client.on("pong", () => (this.#unanswered = 0));
    this.#client.on("error", () => this.cut());
    this.#client.once("close", () => {
      cancelAuth();
      cancelPing();
      for (const subscription of this.#subscriptions.values()) subscription.abort();
    });
    this.#readFrames();
  }

  close(code: number, reason: string): void {
    this.#client.close(code, reason);
  }

  cut(): void {
    this.#client.terminate();
  }

  /** Frames are taken one after the other: a subscription must not overtake the token before it. */
  #readFrames(): void {
    let last: Promise<void> = Promise.resolve();
    let waiting = 0;
    const enqueue = (work: () => Promise<void>): void => {
      waiting += 1;
      if (waiting > MAX_SUBSCRIPTIONS) {
        this.close(4429, "too many frames at once");
        return;
      }
      last = last
        .then(work)
        .catch((thrown: unknown) => this.#refuse(thrown))
        .finally(() => (waiting -= 1));
    };
    const { authorization, cookie } = this.#request.headers;
    if (authorization !== undefined || sessionOf(cookie) !== undefined) {
      enqueue(() => this.#authenticate(authorization));
    }
    this.#client.on("message", (data: Buffer, isBinary: boolean) => {
      enqueue(async () => {
        if (isBinary) throw new MeshError("invalid_argument", "send frames as text");
        await this.#take(readFrame(data.toString("utf8")));
      });
    });
  }

  async #take(frame: ClientFrame): Promise<void> {
    if (frame.type === "auth") {
      await this.#authenticate(`Bearer ${frame.token}`);
    } else if (this.#session === undefined) {
      this.close(4401, "send the token first");
    } else if (frame.type === "unsubscribe") {
      this.#subscriptions.get(frame.id)?.abort();
    } else {
      this.#subscribe(frame, this.#session);
    }
  }

  async #authenticate(authorization: string | undefined): Promise<void> {
    if (this.#session !== undefined) throw new MeshError("failed_precondition", "this socket has its token already");
    const address = this.#request.socket.remoteAddress ?? "";
    try {
      const browser = authorization === undefined ? { browser: upgradeOf(this.#request) } : {};
      this.#session = await this.#deps.admission.admit("read", { authorization, address, ...browser }, RUNS_ONLY);
      this.#send({ type: "ready", user: this.#session.caller.userName });
    } catch (thrown) {
      this.#refuse(thrown);
      this.close(MeshError.from(thrown).code === "resource_exhausted" ? 4429 : 4401, "the token was refused");
    }
  }

  #subscribe(frame: Subscribe, session: Session): void {
    const { id } = frame;
    try {
      this.#deps.admission.charge(session.caller);
      if (this.#subscriptions.has(id))
        throw new MeshError("already_exists", `subscription "${id}" is open; choose another id`);
      if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
        throw new MeshError(
          "resource_exhausted",
          `at most ${MAX_SUBSCRIPTIONS} subscriptions fit on one socket; open another`,
        );
      }
      const wanted = wantedBy(frame);
      const stop = new AbortController();
      this.#subscriptions.set(id, stop);
      void this.#forward(id, wanted, session, stop.signal);
    } catch (thrown) {
      this.#refuse(thrown, id);
    }
  }

  async #forward(id: string, { operation, request }: Wanted, session: Session, signal: AbortSignal): Promise<void> {
    const call: Call = { caller: session.caller, signal, requestId: this.#requestId, transport: "http" };
    try {
      const open = (bounded: Call): AsyncIterable<unknown> => openStream(this.#deps.api, operation, request, bounded);
      for await (const message of this.#deps.streams.follow(open, call, session.token)) {
        const event = isObject(message) ? message["event"] : undefined;
        this.#send({ type: "event", id, event });
        if (!(await this.#flushed())) {
          this.close(4409, "events are not read fast enough; connect again and resume");
          this.#deps.clock.after(LINGER_MS, () => this.cut());
          return;
        }
      }
      this.#subscriptions.delete(id);
      this.#send({ type: "end", id });
    } catch (thrown) {
      this.#subscriptions.delete(id);
      // The client asked for this end, or is gone.
      if (signal.aborted) this.#send({ type: "end", id });
      else this.#refuse(thrown, id);
    } finally {
      this.#subscriptions.delete(id);
    }
  }

  /** Waits while too much is unsent; `ws` has no drain event. False when the client is too slow or gone. */
  async #flushed(): Promise<boolean> {
    for (let waitedMs = 0; this.#client.bufferedAmount > MAX_BUFFERED_BYTES; waitedMs += POLL_MS) {
      if (waitedMs >= BLOCKED_MS) return false;
      await this.#deps.clock.sleep(POLL_MS);
    }
    return this.#client.readyState === WebSocket.OPEN;
  }

  #refuse(thrown: unknown, id?: string): void {
    const error = MeshError.from(thrown);
    const message = error.code === "internal" ? internalText(this.#requestId) : error.message;
    this.#send({ type: "error", ...(id === undefined ? {} : { id }), code: error.code, message });
  }

  #send(frame: ServerFrame): void {
    if (this.#client.readyState === WebSocket.OPEN) this.#client.send(JSON.stringify(frame));
  }

  #ping(): void {
    if (this.#unanswered >= 2) {
      this.cut();
      return;
    }
    this.#unanswered += 1;
    this.#client.ping();
  }
}

/** A stream that a subscription asks for. */
interface Wanted {
  readonly operation: Operation;
  readonly request: unknown;
}

function wantedBy({ run, feed, after_seq }: Subscribe): Wanted {
  const operation = feed === undefined ? operationOf("runs", "followRun") : operationOf("feed", "followFeed");
  const input = feed === undefined ? { run, after_seq } : { workspace: feed, after_seq };
  return { operation, request: validate(operation, input) };
}

/** A browser sends no header of ours with an upgrade: its Origin alone tells whose page it is. */
function upgradeOf({ headers }: IncomingMessage): BrowserRequest {
  const { host, origin, cookie } = headers;
  return { method: "GET", host, origin, cookie, csrfToken: undefined, isUpgrade: true };
}
