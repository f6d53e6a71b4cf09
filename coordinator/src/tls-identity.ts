/** The gateway's certificate, and the pin by which devices know its key. */

import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

import { MeshError } from "@mesh/kernel";

/** Certificate chain and key as read from disk. */
export interface TlsIdentity {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Base64url SHA-256 of the certificate's public key (SPKI). */
  readonly pin: string;
}

/** Reads the pair of files; undefined when neither is set. */
export function loadTlsIdentity(certPath: string | undefined, keyPath: string | undefined): TlsIdentity | undefined {
  if (certPath === undefined && keyPath === undefined) return undefined;
  if (certPath === undefined || keyPath === undefined) {
    throw new MeshError("invalid_argument", "TLS needs both YAO_TLS_CERT and YAO_TLS_KEY");
  }
  const cert = readPem(certPath, "YAO_TLS_CERT");
  const key = readPem(keyPath, "YAO_TLS_KEY");
  return { cert, key, pin: pinOf(cert, certPath) };
}

function readPem(path: string, option: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new MeshError("invalid_argument", `${option}: ${path} cannot be read`, { cause: error });
  }
}

function pinOf(cert: Buffer, path: string): string {
  try {
    const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
    return createHash("sha256").update(spki).digest("base64url");
  } catch (error) {
    throw new MeshError("invalid_argument", `YAO_TLS_CERT: ${path} is not a certificate in PEM form`, { cause: error });
  }
}
