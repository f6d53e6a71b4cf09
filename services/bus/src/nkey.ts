/** Key pairs of NATS users: a node makes its own on the device, and its public half names it. */

import { createPublicKey, verify } from "node:crypto";

import { createUser, fromPublic, fromSeed } from "@nats-io/nkeys";

/** A user's key pair; the seed is a secret. */
export interface UserKey {
  /** Public nkey, `U…`. */
  readonly nkey: string;
  readonly seed: Uint8Array;
}

/** A new key pair from the system's randomness. */
export function createUserKey(): UserKey {
  const pair = createUser();
  return { nkey: pair.getPublicKey(), seed: pair.getSeed() };
}

/** The public nkey of a seed. */
export function nkeyOfSeed(seed: Uint8Array): string {
  return fromSeed(seed).getPublicKey();
}

/** Whether `value` is the public nkey of a user. */
export function isUserNkey(value: string): boolean {
  if (value.length !== 56 || !value.startsWith("U")) return false;
  try {
    fromPublic(value);
    return true;
  } catch {
    return false;
  }
}

/** Ed25519 signature of `data` by the owner of `seed`. */
export function signWithSeed(seed: Uint8Array, data: Uint8Array): Uint8Array {
  return fromSeed(seed).sign(data);
}

/** Whether `signature` over `data` was made with the seed of `nkey`; false for a malformed key. */
export function verifyNkey(nkey: string, data: Uint8Array, signature: Uint8Array): boolean {
  if (!isUserNkey(nkey) || signature.length !== SIGNATURE_BYTES) return false;
  // The library's own arithmetic is plain JavaScript and holds everything else up for milliseconds.
  const x = Buffer.from(rawKey(nkey)).toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return verify(null, data, key, signature);
}

const SIGNATURE_BYTES = 64;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

// An nkey is base32 of a prefix byte, the 32 bytes of the key and a checksum, which was checked before.
function rawKey(nkey: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const char of nkey) {
    value = ((value << 5) | BASE32.indexOf(char)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  return Uint8Array.from(bytes.slice(1, 33));
}
