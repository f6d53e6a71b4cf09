/**
 * The feed of a workspace, shared by all tabs of this browser.
 *
 * T1  One tab, the one that holds the lock, has the connection; it hands every event to the others.
 * T2  A tab that sees a hole in the numbers asks for everything again (`onHole`): it was frozen, or the cursor was too old.
 * T3  A leader that shows no sign of life for 60 s loses the lock to a tab that is looked at.
 */

import type { FeedEvent } from "@mesh/proto";

import type { Clock } from "../app/clock.ts";
import type { Fetch } from "./backoff.ts";
import { FeedStream } from "./feed-stream.ts";

/** What one tab is told. */
export interface SharedFeedListener {
  readonly onEvent: (event: FeedEvent) => void;
  /** Something was missed: what was loaded may be old. */
  readonly onHole: () => void;
  readonly onOnline: (isOnline: boolean) => void;
  readonly onUnauthenticated: () => void;
}

/** What it needs of the browser; without locks or channels every tab has a connection of its own. */
export interface SharedFeedDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly locks: LockManager | undefined;
  readonly channel: BroadcastChannel | undefined;
}

type Message =
  | { readonly type: "event"; readonly event: FeedEvent }
  | { readonly type: "online"; readonly isOnline: boolean }
  | { readonly type: "alive" }
  | { readonly type: "hello" }
  | { readonly type: "wake" };

const DEAD_MS = 60_000;
const ALIVE_EVERY_MS = 5_000;

/** One tab's part in it; see the file comment. */
export class SharedFeed {
  readonly #deps: SharedFeedDeps;
  readonly #listener: SharedFeedListener;
  readonly #workspace: string;
  readonly #stop = new AbortController();
  #cursor: number;
  #stream: FeedStream | undefined;
  #isOnline = false;
  #lastAliveMs: number;
  #lastToldMs = 0;

  /** `cursor`: the feed's number when this tab began to load; what comes later is an event. */
  constructor(deps: SharedFeedDeps, listener: SharedFeedListener, start: { workspace: string; cursor: number }) {
    this.#deps = deps;
    this.#listener = listener;
    this.#workspace = start.workspace;
    this.#cursor = start.cursor;
    this.#lastAliveMs = deps.clock.now();
  }

  /** Whether this tab has the connection. */
  get isLeader(): boolean {
    return this.#stream !== undefined;
  }

  /** Takes part until `close`. */
  open(): void {
    const { channel } = this.#deps;
    channel?.addEventListener("message", this.#onMessage);
    this.#tell({ type: "hello" });
    this.#elect(false);
  }

  /** Leaves; another tab takes over. */
  close(): void {
    this.#stop.abort();
    this.#stream?.stop();
    this.#deps.channel?.removeEventListener("message", this.#onMessage);
  }

  /** Called when the page is looked at again, or the network is back. */
  wake(): void {
    if (this.#stream !== undefined) {
      this.#stream.wake();
      return;
    }
    this.#tell({ type: "wake" });
    if (this.#deps.clock.now() - this.#lastAliveMs > DEAD_MS) this.#elect(true);
  }

  #elect(steal: boolean): void {
    const { locks } = this.#deps;
    if (locks === undefined) {
      void this.#lead();
      return;
    }
    const name = `yao-feed-${this.#workspace}`;
    const options: LockOptions = steal ? { steal } : { signal: this.#stop.signal };
    locks
      .request(name, options, () => this.#lead())
      .catch(() => {
        // Left, or the lock was stolen from this tab: it follows again and queues up.
        this.#stream?.stop();
        this.#stream = undefined;
        if (!this.#stop.signal.aborted) this.#elect(false);
      });
  }

  async #lead(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const stream = new FeedStream(
      {
        clock: this.#deps.clock,
        fetch: this.#deps.fetch,
        onEvent: (event) => {
          this.#tell({ type: "event", event });
          this.#take(event);
        },
        onOnline: (isOnline) => {
          this.#tell({ type: "online", isOnline });
          this.#setOnline(isOnline);
        },
        onAlive: () => this.#alive(),
        onUnauthenticated: this.#listener.onUnauthenticated,
      },
      this.#workspace,
      this.#cursor,
    );
    this.#stream = stream;
    await stream.run();
    if (this.#stream === stream) this.#stream = undefined;
  }

  #alive(): void {
    const now = this.#deps.clock.now();
    if (now - this.#lastToldMs < ALIVE_EVERY_MS) return;
    this.#lastToldMs = now;
    this.#tell({ type: "alive" });
  }

  #take(event: FeedEvent): void {
    if (event.kind === "reset") {
      this.#cursor = event.seq;
      this.#listener.onHole();
      return;
    }
    if (event.seq <= this.#cursor) return;
    const isHole = event.seq > this.#cursor + 1;
    this.#cursor = event.seq;
    if (isHole) this.#listener.onHole();
    this.#listener.onEvent(event);
  }

  #setOnline(isOnline: boolean): void {
    if (this.#isOnline === isOnline) return;
    this.#isOnline = isOnline;
    this.#listener.onOnline(isOnline);
  }

  #tell(message: Message): void {
    this.#deps.channel?.postMessage({ ...message, workspace: this.#workspace });
  }

  readonly #onMessage = ({ data }: MessageEvent<Message & { workspace: string }>): void => {
    if (data.workspace !== this.#workspace) return;
    const isLeader = this.#stream !== undefined;
    if (data.type === "hello" && isLeader) this.#tell({ type: "online", isOnline: this.#isOnline });
    else if (data.type === "wake") this.#stream?.wake();
    else if (!isLeader) this.#follow(data);
  };

  #follow(message: Message): void {
    this.#lastAliveMs = this.#deps.clock.now();
    if (message.type === "event") this.#take(message.event);
    else if (message.type === "online") this.#setOnline(message.isOnline);
  }
}
