/**
 * What `crypt` does to a column's text.
 *
 * AES: encrypted so that equal texts of one column have equal ciphertexts, which keeps `=`, `in` and `unique` working; the
 * key differs by workspace, table and column. PASSWORD: hashed on write, one way.
 */

import { createCipheriv, createDecipheriv, createHmac, randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";

import { MeshError } from "@mesh/kernel";

const PREFIX = "aes1:";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HASH = /^\$scrypt\$[A-Za-z0-9+/=]{24}\$[A-Za-z0-9+/=]{44}$/;

const derive = promisify(scrypt) as (password: string, salt: Buffer, length: number) => Promise<Buffer>;

/** Encrypts and decrypts the texts of one column. */
export class ColumnCipher {
  readonly #key: Buffer;
  readonly #nonceKey: Buffer;

  /** `secret` is the installation's key; `place` names workspace, table and column. */
  constructor(secret: Uint8Array, place: readonly [string, string, string]) {
    const root = createHmac("sha256", secret).update(JSON.stringify(place)).digest();
    this.#key = createHmac("sha256", root).update("key").digest();
    this.#nonceKey = createHmac("sha256", root).update("nonce").digest();
  }

  seal(text: string): string {
    // The nonce follows from the text: it repeats only when the text does.
    const nonce = createHmac("sha256", this.#nonceKey).update(text).digest().subarray(0, NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return PREFIX + sealed.toString("base64");
  }

  open(sealed: string): string {
    const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64");
    try {
      if (!sealed.startsWith(PREFIX) || bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error("not sealed");
      const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
    } catch (cause) {
      throw new MeshError("data_loss", "an encrypted column cannot be read with this installation's key", { cause });
    }
  }
}

/** The hash of a password; what is a hash already stays as it is, so that a row that was read can be saved. */
export async function hashPassword(text: string): Promise<string> {
  if (HASH.test(text)) return text;
  const salt = randomBytes(16);
  return `$scrypt$${salt.toString("base64")}$${(await derive(text, salt, 32)).toString("base64")}`;
}
