/**
 * Opens the byte stream to one server: TCP, TLS, or WebSocket, by the scheme of its URL.
 *
 * D1  With an SPKI pin the peer is accepted if and only if its public key hashes to the pin, whoever signed it;
 *     nothing secret is sent before that is known.
 * D2  `tls://` and `wss://` never fall back to plain text.
 */

import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type TLSSocket } from "node:tls";

import { MeshError } from "@mesh/kernel";
import { createWebSocketStream, WebSocket } from "ws";

const DEFAULT_PORT = 4222;
const MAX_INFO_BYTES = 64 * 1024;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** How the server's certificate is judged; without either, by the system's authorities. */
export interface BusTls {
  /** base64url SHA-256 of the certificate's SubjectPublicKeyInfo. */
  readonly spkiPin?: string;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
}

/** An open stream; `head` was read already and belongs before what follows. */
export interface Dialed {
  readonly stream: Duplex;
  readonly head: Uint8Array;
  readonly encrypted: boolean;
}

/** Whether this URL is reached over WebSocket. */
export function isWebSocketUrl(url: string): boolean {
  return /^wss?:\/\//i.test(url);
}

/** Opens the stream or throws; closes what it opened when `signal` aborts first. */
export async function dialServer(url: string, tls: BusTls | undefined, signal: AbortSignal): Promise<Dialed> {
  return isWebSocketUrl(url) ? await dialWebSocket(url, tls, signal) : await dialTcp(url, tls, signal);
}

async function dialTcp(url: string, tls: BusTls | undefined, signal: AbortSignal): Promise<Dialed> {
  const { protocol, hostname, port } = parseUrl(url);
  const socket = connectTcp({ host: hostname, port: port === "" ? DEFAULT_PORT : Number(port), noDelay: true });
  return await guarded(socket, signal, async () => {
    await once(socket, "connect", { signal });
    socket.setKeepAlive(true, 30_000);
    const head = await readInfoLine(socket, signal);
    if (protocol !== "tls:" && !/"tls_required":\s*true/.test(Buffer.from(head).toString("latin1"))) {
      return { stream: socket, head, encrypted: false };
    }
    return { stream: await upgrade(socket, hostname, tls, signal), head, encrypted: true };
  });
}

async function upgrade(
  socket: Socket,
  hostname: string,
  tls: BusTls | undefined,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const secured = connectTls({
    socket,
    ...certificateChecks(tls),
    ...(isIP(hostname) === 0 && { servername: hostname }),
  });
  return await guarded(secured, signal, async () => {
    await once(secured, "secureConnect", { signal });
    checkPin(secured, tls);
    return secured;
  });
}

async function dialWebSocket(url: string, tls: BusTls | undefined, signal: AbortSignal): Promise<Dialed> {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    ...certificateChecks(tls),
  });
  const stream = createWebSocketStream(socket);
  return await guarded(stream, signal, async () => {
    const encrypted = url.toLowerCase().startsWith("wss:");
    await new Promise<void>((resolve, reject) => {
      // The upgrade request carries no secret, so judging the certificate at its answer is early enough.
      socket.once("upgrade", (response) => {
        try {
          if (encrypted) checkPin(response.socket as TLSSocket, tls);
        } catch (error) {
          reject(MeshError.from(error));
        }
      });
      socket.once("open", resolve);
      socket.once("error", reject);
      signal.addEventListener("abort", () => reject(timedOut(url)), { once: true });
    });
    return { stream, head: new Uint8Array(), encrypted };
  });
}

// Runs `open`; on failure destroys the stream. The stream keeps an error listener for life: an unhandled
// "error" event would end the process.
async function guarded<T>(stream: Duplex, signal: AbortSignal, open: () => Promise<T>): Promise<T> {
  stream.on("error", () => undefined);
  try {
    signal.throwIfAborted();
    return await open();
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

function readInfoLine(socket: Socket, signal: AbortSignal): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const finish = (settle: () => void): void => {
      socket.off("data", onData).off("close", onClose).pause();
      signal.removeEventListener("abort", onClose);
      settle();
    };
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (head.includes("\r\n")) {
        const isNats = head.subarray(0, 5).toString("latin1").toUpperCase() === "INFO ";
        finish(() => (isNats ? resolve(new Uint8Array(head)) : reject(notNats())));
      } else if (head.length > MAX_INFO_BYTES) finish(() => reject(notNats()));
    };
    const onClose = (): void => finish(() => reject(new MeshError("unavailable", "the server closed the connection")));
    socket.on("data", onData).on("close", onClose);
    signal.addEventListener("abort", onClose, { once: true });
  });
}

function notNats(): MeshError {
  return new MeshError("unavailable", "the server at this address does not speak NATS");
}

function timedOut(url: string): MeshError {
  return new MeshError("unavailable", `no answer from ${url} in time`);
}

function certificateChecks(tls: BusTls | undefined): { rejectUnauthorized: boolean; ca?: string } {
  // With a pin the authority does not matter: `checkPin` decides.
  return { rejectUnauthorized: tls?.spkiPin === undefined, ...(tls?.ca !== undefined && { ca: tls.ca }) };
}

function checkPin(socket: TLSSocket, tls: BusTls | undefined): void {
  if (tls?.spkiPin === undefined) return;
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: "spki", format: "der" });
  const pin = key === undefined ? "" : createHash("sha256").update(key).digest("base64url");
  if (pin === tls.spkiPin) return;
  throw new MeshError(
    "unauthenticated",
    "the server's certificate is not the one this device joined with; if it was replaced on purpose, join again",
    { details: { pin } },
  );
}

function parseUrl(url: string): { protocol: string; hostname: string; port: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^(nats|tls):$/.test(parsed.protocol) || parsed.hostname === "") {
    throw new MeshError(
      "invalid_argument",
      `"${url}" is not the URL of a NATS server (nats://, tls://, ws:// or wss://)`,
    );
  }
  return { protocol: parsed.protocol, hostname: parsed.hostname.replace(/^\[|\]$/g, ""), port: parsed.port };
}
