/** Who sends: a signature that push services check (VAPID, RFC 8292). */

import { createECDH, createPrivateKey, sign } from "node:crypto";

/** The keys of a system, both as base64url. */
export interface VapidKeys {
  /** An uncompressed P-256 point. */
  readonly publicKey: string;
  readonly privateKey: string;
}

/** Services refuse more than 24 hours. */
const VALID_SECONDS = 12 * 3600;
const COORDINATE_BYTES = 32;

/** Makes keys. */
export function makeVapidKeys(): VapidKeys {
  const ecdh = createECDH("prime256v1");
  ecdh.generateKeys();
  const d = ecdh.getPrivateKey();
  // Leading zeroes are left out there.
  const padded = Buffer.concat([Buffer.alloc(COORDINATE_BYTES - d.length), d]);
  return { publicKey: ecdh.getPublicKey().toString("base64url"), privateKey: padded.toString("base64url") };
}

/** The header `authorization` of one request; `subject` is where the operator of this system can be reached: https: or mailto:. */
export function vapidHeader(
  keys: VapidKeys,
  { url, subject, nowMs }: { readonly url: string; readonly subject: string; readonly nowMs: number },
): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(nowMs / 1000) + VALID_SECONDS;
  const text = `${part({ typ: "JWT", alg: "ES256" })}.${part({ aud: new URL(url).origin, exp, sub: subject })}`;
  const point = Buffer.from(keys.publicKey, "base64url");
  const coordinate = (at: number): string => point.subarray(at, at + COORDINATE_BYTES).toString("base64url");
  const jwk = { kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(1 + COORDINATE_BYTES), d: keys.privateKey };
  const key = createPrivateKey({ key: jwk, format: "jwk" });
  const signature = sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
  return `vapid t=${text}.${signature}, k=${keys.publicKey}`;
}
