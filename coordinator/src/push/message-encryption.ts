/** Encrypts one message for one browser (RFC 8291 over RFC 8188): only that browser can read it, not the service in between. */

import { createCipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

import { MeshError } from "@mesh/kernel";

/** What a browser gave for encrypting to it, as base64url. */
export interface PushTarget {
  /** An uncompressed P-256 point of 65 bytes. */
  readonly p256dh: string;
  /** 16 bytes. */
  readonly auth: string;
}

/** What is drawn for each message; given only where a test compares with published values. */
export interface MessageSecrets {
  /** A P-256 private key of 32 bytes. */
  readonly privateKey: Uint8Array;
  /** 16 bytes. */
  readonly salt: Uint8Array;
}

const CURVE = "prime256v1";
const POINT_BYTES = 65;
const AUTH_BYTES = 16;
const SALT_BYTES = 16;
const KEY_BYTES = 16;
const NONCE_BYTES = 12;
const RECORD_BYTES = 4096;
/** Marks the end of the last record. */
const LAST = Buffer.of(2);

/** More plain text than that does not fit the one record that push services take. */
export const MAX_PLAIN_BYTES = 3000;

/** The body of a request with `content-encoding: aes128gcm`; throws `invalid_argument` for what is no key of a browser. */
export function encryptMessage(plain: Uint8Array, target: PushTarget, secrets?: MessageSecrets): Buffer {
  if (plain.length > MAX_PLAIN_BYTES) {
    throw new MeshError("invalid_argument", `a push message has at most ${MAX_PLAIN_BYTES} bytes, not ${plain.length}`);
  }
  const ecdh = createECDH(CURVE);
  if (secrets === undefined) ecdh.generateKeys();
  else ecdh.setPrivateKey(secrets.privateKey);
  const ownPoint = ecdh.getPublicKey();
  const { point, auth, shared } = agree(ecdh, target);
  const salt = secrets?.salt ?? randomBytes(SALT_BYTES);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), point, ownPoint]);
  const material = derive(shared, auth, info, 32);
  const key = derive(material, salt, Buffer.from("Content-Encoding: aes128gcm\0"), KEY_BYTES);
  const nonce = derive(material, salt, Buffer.from("Content-Encoding: nonce\0"), NONCE_BYTES);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  const body = Buffer.concat([cipher.update(plain), cipher.update(LAST), cipher.final(), cipher.getAuthTag()]);
  const recordSize = Buffer.alloc(4);
  recordSize.writeUInt32BE(RECORD_BYTES);
  return Buffer.concat([salt, recordSize, Buffer.of(ownPoint.length), ownPoint, body]);
}

/** Throws `invalid_argument` for what is no key of a browser. */
export function requireTarget(target: PushTarget): void {
  const ecdh = createECDH(CURVE);
  ecdh.generateKeys();
  agree(ecdh, target);
}

function agree(
  ecdh: ReturnType<typeof createECDH>,
  { p256dh, auth: authText }: PushTarget,
): { readonly point: Buffer; readonly auth: Buffer; readonly shared: Buffer } {
  const point = Buffer.from(p256dh, "base64url");
  const auth = Buffer.from(authText, "base64url");
  if (auth.length !== AUTH_BYTES) throw new MeshError("invalid_argument", "auth must be 16 bytes as base64url");
  try {
    if (point.length !== POINT_BYTES) throw new Error("not an uncompressed point");
    return { point, auth, shared: ecdh.computeSecret(point) };
  } catch (thrown) {
    const message = "p256dh must be a point of P-256 as base64url, as a browser gives it";
    throw new MeshError("invalid_argument", message, { cause: thrown });
  }
}

function derive(key: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", key, salt, info, bytes));
}
