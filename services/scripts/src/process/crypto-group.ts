/** The group `crypto`: digests, message codes, AES-256-GCM and RSA signatures. Pure functions of their arguments. */

import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

import { MeshError } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import { functionGroup, type ProcessGroup } from "./process-group.ts";

const HASHES = ["MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "SHA3-256", "SHA3-512"] as const;
const ENCODINGS = ["hex", "base64"] as const;
const MODES = ["GCM"] as const;
const KEY_BYTES = 32;
const TAG_BYTES = 16;
const MIN_NONCE_BYTES = 12;

/** `crypto.Hash HMAC HMACWith AES256Encrypt AES256Decrypt RSA2Sign RSA2Verify`. */
export function cryptoGroup(): ProcessGroup {
  return functionGroup({
    Hash: (args) =>
      createHash(hashName(args, 0))
        .update(args.text(1, "value"))
        .digest(args.word(2, "encoding", ENCODINGS, "hex")),
    HMAC: (args) =>
      createHmac(hashName(args, 0), args.text(2, "key"))
        .update(args.text(1, "value"))
        .digest(args.word(3, "encoding", ENCODINGS, "hex")),
    HMACWith: hmacWith,
    AES256Encrypt: encrypt,
    AES256Decrypt: decrypt,
    RSA2Sign: (args) =>
      signature(args, () =>
        sign(hashName(args, 1), Buffer.from(args.text(2, "value")), privateKey(args)).toString(
          args.word(3, "encoding", ENCODINGS, "base64"),
        ),
      ),
    RSA2Verify: (args) =>
      signature(args, () =>
        verify(
          hashName(args, 1),
          Buffer.from(args.text(2, "value")),
          publicKey(args),
          Buffer.from(args.text(3, "signature"), args.word(4, "encoding", ENCODINGS, "base64")),
        ),
      ),
  });
}

function hashName(args: ProcessArgs, index: number): string {
  return args.word(index, "algorithm", HASHES).toLowerCase();
}

/** HMACWith({algo, key: encoding of the key, value: encoding of the value, output}, value, key). */
function hmacWith(args: ProcessArgs): string {
  const option = args.object(0, "options");
  const pick = (key: string, fallback: string, words: readonly string[]): string => {
    const value = option[key] ?? fallback;
    const word = typeof value === "string" ? value.toLowerCase() : "";
    return words.includes(word) ? word : args.refuse(`options.${key} must be one of ${words.join(", ")}`);
  };
  const names = HASHES.map((name) => name.toLowerCase());
  const inputs = ["text", ...ENCODINGS];
  const bytes = (text: string, encoding: string): Buffer =>
    Buffer.from(text, encoding === "text" ? "utf8" : (encoding as (typeof ENCODINGS)[number]));
  const key = bytes(args.text(2, "key"), pick("key", "text", inputs));
  const value = bytes(args.text(1, "value"), pick("value", "text", inputs));
  const output = pick("output", "hex", ENCODINGS) as (typeof ENCODINGS)[number];
  return createHmac(pick("algo", "sha256", names), key)
    .update(value)
    .digest(output);
}

interface CipherInput {
  readonly key: Buffer;
  readonly nonce: Buffer;
  readonly text: string;
  readonly additional: Buffer;
  readonly encoding: (typeof ENCODINGS)[number];
}

/** (mode, key, nonce, text, additional data?, encoding = base64); the tag follows the encrypted bytes. */
function cipherInput(args: ProcessArgs): CipherInput {
  args.word(0, "mode", MODES);
  const key = Buffer.from(args.text(1, "key"));
  if (key.length !== KEY_BYTES) args.refuse(`argument 2 (key) must have ${KEY_BYTES} bytes, not ${key.length}`);
  const nonce = Buffer.from(args.text(2, "nonce"));
  if (nonce.length < MIN_NONCE_BYTES) args.refuse(`argument 3 (nonce) must have at least ${MIN_NONCE_BYTES} bytes`);
  return {
    key,
    nonce,
    text: args.text(3, "text"),
    additional: Buffer.from(args.text(4, "additional data", "")),
    encoding: args.word(5, "encoding", ENCODINGS, "base64"),
  };
}

function encrypt(args: ProcessArgs): string {
  const { key, nonce, text, additional, encoding } = cipherInput(args);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(additional);
  return Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString(encoding);
}

function decrypt(args: ProcessArgs): string {
  const { key, nonce, text, additional, encoding } = cipherInput(args);
  const sealed = Buffer.from(text, encoding);
  if (sealed.length < TAG_BYTES) args.refuse("argument 4 (text) is too short to have been encrypted here");
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(additional).setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]).toString();
  } catch (cause) {
    throw new MeshError("invalid_argument", "the text cannot be decrypted: another key or nonce, or it was changed", {
      cause,
    });
  }
}

function privateKey(args: ProcessArgs): KeyObject {
  return createPrivateKey(pem(args.text(0, "private key"), "PRIVATE KEY"));
}

function publicKey(args: ProcessArgs): KeyObject {
  return createPublicKey(pem(args.text(0, "public key"), "PUBLIC KEY"));
}

/** Keys are often stored as the bare base64 of a PEM file. */
function pem(key: string, label: string): string {
  return key.includes("-----BEGIN") ? key : `-----BEGIN ${label}-----\n${key.trim()}\n-----END ${label}-----\n`;
}

function signature<T>(args: ProcessArgs, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof MeshError) throw error;
    return args.refuse("argument 1 must be an RSA key as PEM text (PKCS#8 for private, SPKI for public keys)");
  }
}
