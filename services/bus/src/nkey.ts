/** Key pairs of NATS users: a node makes its own on the device, and its public half names it. */

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
  if (!isUserNkey(nkey)) return false;
  try {
    return fromPublic(nkey).verify(data, signature);
  } catch {
    return false;
  }
}
