/**
 * JSON over HTTP(S) to the coordinator, for the two calls a node makes before it has a bus connection.
 *
 * C1  With a pin, nothing is sent before the server has shown the pinned key; the certificate chain does not matter then.
 * C2  Redirects are not followed, answers are bounded, every call has a deadline.
 */

import { createHash, type KeyObject } from "node:crypto";
import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as tlsConnect, type TLSSocket } from "node:tls";

import { type ErrorCode, errorText, isObject, MeshError, toErrorCode } from "@mesh/kernel";

/** Where a call goes. */
export interface CoordinatorAddress {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly pin: string | undefined;
}

const MAX_ANSWER_BYTES = 1_000_000;
const CALL_MS = 30_000;

/** base64url SHA-256 of a public key in SPKI form: what a pin is. */
export function spkiPin(publicKey: KeyObject): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
}

/** Posts JSON and returns the parsed answer; failures are MeshErrors with the server's own words. */
export async function postJson(address: CoordinatorAddress, path: string, body: unknown): Promise<unknown> {
  const url = new URL(`${address.url}${path}`);
  if (address.pin !== undefined && url.protocol !== "https:") {
    throw new MeshError("invalid_argument", "this token pins a certificate; use the coordinator's https:// address");
  }
  const payload = Buffer.from(JSON.stringify(body));
  const deadline = AbortSignal.timeout(CALL_MS);
  try {
    const socket = address.pin === undefined ? undefined : await pinnedSocket(url, address.pin, deadline);
    const answer = await send(url, payload, { signal: deadline, ...(socket && { createConnection: () => socket }) });
    return readAnswer(answer.status, answer.text, url);
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw unreachable(url, error);
  }
}

function pinnedSocket(url: URL, pin: string, signal: AbortSignal): Promise<TLSSocket> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({
      host,
      port: url.port === "" ? 443 : Number(url.port),
      // An IP address is no legal server name.
      ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
      ALPNProtocols: ["http/1.1"],
      // The pin replaces the chain: see C1.
      rejectUnauthorized: false,
    });
    const abort = (): void => void socket.destroy(new Error("no answer in time"));
    signal.addEventListener("abort", abort, { once: true });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      signal.removeEventListener("abort", abort);
      const key = socket.getPeerX509Certificate()?.publicKey;
      if (key !== undefined && spkiPin(key) === pin) {
        socket.off("error", reject);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(
        new MeshError(
          "unauthenticated",
          `${url.host} showed another certificate than the token names; nothing was sent. Check the address, or make a new token with: yao node token create`,
        ),
      );
    });
  });
}

function send(
  url: URL,
  payload: Buffer,
  extra: RequestOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options: RequestOptions = {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        "content-length": payload.length,
        connection: "close",
      },
      // Node ignores `createConnection` when there is an agent.
      ...(extra.createConnection === undefined && { agent: false }),
      ...extra,
    };
    const request: ClientRequest = url.protocol === "https:" ? httpsRequest(url, options) : httpRequest(url, options);
    request.once("error", reject);
    request.once("response", (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) response.destroy(new Error("the answer is too long"));
        else chunks.push(chunk);
      });
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    request.end(payload);
  });
}

function readAnswer(status: number, text: string, url: URL): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (status >= 200 && status < 300 && isObject(parsed)) return parsed;
  if (isObject(parsed) && typeof parsed["detail"] === "string") {
    const code = typeof parsed["code"] === "string" ? toErrorCode(parsed["code"]) : codeOfStatus(status);
    throw new MeshError(code, parsed["detail"].slice(0, 1000));
  }
  throw new MeshError(
    status >= 500 ? "unavailable" : codeOfStatus(status),
    `${url.origin} answered ${status}, but not as a Yao Mesh coordinator; check the address`,
  );
}

function codeOfStatus(status: number): ErrorCode {
  const codes: Readonly<Record<number, ErrorCode>> = {
    400: "invalid_argument",
    401: "unauthenticated",
    403: "permission_denied",
    404: "not_found",
    409: "failed_precondition",
    429: "resource_exhausted",
  };
  return codes[status] ?? (status >= 500 ? "unavailable" : "unknown");
}

function unreachable(url: URL, error: unknown): MeshError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const certificate = /CERT|SELF_SIGNED|ALTNAME/.test(code);
  const advice = certificate
    ? "its certificate is not trusted; use a token made by this coordinator (it carries the pin)"
    : "check the address, and that the coordinator is running and reachable from this device";
  return new MeshError("unavailable", `cannot reach ${url.origin} (${errorText(error)}): ${advice}`, { cause: error });
}
