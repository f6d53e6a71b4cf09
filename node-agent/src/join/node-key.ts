/** The device's own key: made here, kept here (0600), never sent anywhere. */

import { rmSync } from "node:fs";
import { join } from "node:path";

import { createUserKey, nkeyOfSeed, signWithSeed } from "@mesh/bus";
import { MeshError } from "@mesh/kernel";

import { readIfPresent, writePrivateFile } from "./durable-file.ts";

/** A device key; `sign` proves possession without showing the seed. */
export interface NodeKey {
  /** Public nkey, `U…`. */
  readonly nkey: string;
  readonly seed: Uint8Array;
  /** base64url ed25519 signature of a text. */
  sign(text: string): string;
}

const FILE = "node.nkey";

/** The key of a data directory, made on first use. */
export function loadOrCreateKey(dataDir: string): NodeKey {
  const path = join(dataDir, FILE);
  const stored = readIfPresent(path);
  if (stored !== undefined) return keyOf(new TextEncoder().encode(stored.trim()), path);
  const { seed } = createUserKey();
  writePrivateFile(path, `${new TextDecoder().decode(seed)}\n`);
  return keyOf(seed, path);
}

/** Destroys the key: the device becomes another one. */
export function removeKey(dataDir: string): void {
  rmSync(join(dataDir, FILE), { force: true });
}

function keyOf(seed: Uint8Array, path: string): NodeKey {
  try {
    return {
      nkey: nkeyOfSeed(seed),
      seed,
      sign: (text) => Buffer.from(signWithSeed(seed, new TextEncoder().encode(text))).toString("base64url"),
    };
  } catch (error) {
    throw new MeshError(
      "failed_precondition",
      `${path} is not a device key; restore it from a backup, or delete it and join again with a new token`,
      { cause: error },
    );
  }
}
