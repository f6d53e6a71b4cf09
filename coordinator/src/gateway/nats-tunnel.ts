/**
 * `/nats`: the WebSocket of a node, passed through to the NATS server's loopback listener, so that one address is enough.
 *
 * N1  Only the headers of the WebSocket handshake go on; cookies and Authorization never reach NATS. Who may do what
 *     there is decided by the node's own JWT.
 * N2  The two connections end together: neither survives the other by more than `LINGER_MS`.
 * N3  The number of tunnels is bounded; a NATS server that does not answer is 503 for the client.
 */

import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

import { type Clock, type Ids, MeshError } from "@mesh/kernel";

import { refuseUpgrade, type UpgradeHandler } from "./upgrade.ts";

/** Address of the NATS WebSocket listener. */
export interface NatsWebsocket {
  readonly host: string;
  readonly port: number;
}

/** What tunnels need. */
export interface NatsTunnelDeps {
  readonly clock: Clock;
  readonly ids: Ids;
}

const CONNECT_MS = 5_000;
const LINGER_MS = 2_000;
const KEEPALIVE_MS = 30_000;
const MAX_TUNNELS = 10_000;
const FORWARDED = /^(upgrade|connection|sec-websocket-(key|version|protocol|extensions))$/i;

/** All tunnels of this gateway. */
export class NatsTunnels {
  readonly #deps: NatsTunnelDeps;
  readonly #target: NatsWebsocket;
  readonly #open = new Set<() => void>();
  #stopped = false;

  constructor(deps: NatsTunnelDeps, target: NatsWebsocket) {
    this.#deps = deps;
    this.#target = target;
  }

  /** Number of open tunnels. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes over an upgrade request. */
  readonly handle: UpgradeHandler = (request, client, head) => {
    if (this.#stopped || this.#open.size >= MAX_TUNNELS) {
      this.#refuse(client, "the gateway takes no more connections to NATS now; try again in a moment");
      return;
    }
    if (request.method !== "GET" || request.headers.upgrade?.toLowerCase() !== "websocket") {
      const error = new MeshError("invalid_argument", "/nats speaks WebSocket only; join a device with: yao node join");
      refuseUpgrade(client, error, this.#deps.ids.next("req"));
      return;
    }
    this.#connect(request, client, head);
  };

  /** Cuts all tunnels. */
  stop(): void {
    this.#stopped = true;
    for (const cut of this.#open) cut();
  }

  #connect(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const upstream = connect(this.#target);
    let isConnected = false;
    const cut = (): void => {
      cancelTimer();
      this.#open.delete(cut);
      upstream.destroy();
      client.destroy();
    };
    let cancelTimer = this.#deps.clock.after(CONNECT_MS, () => failed());
    const failed = (): void => {
      if (!isConnected && !client.destroyed) {
        cancelTimer();
        this.#open.delete(cut);
        upstream.destroy();
        this.#refuse(client, "the message server cannot be reached; the node tries again by itself");
      } else cut();
    };
    this.#open.add(cut);
    upstream.once("connect", () => {
      isConnected = true;
      cancelTimer();
      keepAlive(upstream);
      keepAlive(client);
      upstream.write(handshake(request, this.#target));
      if (head.length > 0) upstream.write(head);
      client.pipe(upstream);
      upstream.pipe(client);
    });
    upstream.on("error", failed);
    for (const side of [client, upstream]) {
      side.once("close", side === upstream ? failed : cut);
      // `pipe` has passed the end on; a peer that ignores it does not keep the other side open.
      side.once("end", () => {
        cancelTimer();
        cancelTimer = this.#deps.clock.after(LINGER_MS, cut);
      });
    }
  }

  #refuse(client: Duplex, message: string): void {
    refuseUpgrade(client, new MeshError("unavailable", message), this.#deps.ids.next("req"));
  }
}

function keepAlive(socket: Duplex): void {
  if (!("setKeepAlive" in socket)) return;
  const tcp = socket as Socket;
  tcp.setNoDelay(true);
  tcp.setKeepAlive(true, KEEPALIVE_MS);
}

function handshake(request: IncomingMessage, target: NatsWebsocket): string {
  const lines = [`GET / HTTP/1.1`, `Host: ${target.host}:${target.port}`];
  const { rawHeaders } = request;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (FORWARDED.test(name)) lines.push(`${name}: ${rawHeaders[i + 1] ?? ""}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}
