/**
 * Secrets at rest: AES-256-GCM under the master key.
 *
 * B1  A sealed value opens only under the same key and in the same context: a row copied elsewhere does not open there.
 * B2  Every sealing uses a fresh nonce.
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import { MeshError } from "@mesh/kernel";

/** Seals and opens secrets. */
export interface SecretBox {
  /** `context` names the place the secret belongs to, such as a workspace and a connector. */
  seal(text: string, context: string): Buffer;
  /** Throws `data_loss` when the bytes were not sealed with this key in this context. */
  open(sealed: Buffer, context: string): string;
}

const CIPHER = "aes-256-gcm";
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** A box under a master key of 32 bytes. */
export function createSecretBox(masterKey: Buffer): SecretBox {
  if (masterKey.length !== 32) {
    throw new MeshError("invalid_argument", `the master key must have 32 bytes, not ${masterKey.length}`);
  }
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, masterKey, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body]);
    },
    open(sealed, context) {
      try {
        if (sealed[0] !== VERSION || sealed.length < HEAD_BYTES) throw new Error("not a sealed value");
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, masterKey, nonce, { authTagLength: TAG_BYTES });
        decipher.setAAD(Buffer.from(context));
        decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()]).toString("utf8");
      } catch (thrown) {
        const message =
          "a stored secret cannot be opened with the present master key; enter it again with: yao connector add";
        throw new MeshError("data_loss", message, { cause: thrown });
      }
    },
  };
}
