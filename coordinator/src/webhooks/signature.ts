/** Signatures of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. Pure but for new secrets. */

import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;

/** A fresh secret, as its owner is shown it. */
export function newWebhookSecret(): string {
  return `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
}

/** One message to be sent. */
export interface SignedMessage {
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
}

/** Headers of a message under one secret, or two while one takes the place of the other. */
export function signatureHeaders(message: SignedMessage, secrets: readonly string[]): Readonly<Record<string, string>> {
  const { id, timestampSeconds, body } = message;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": signatures.join(" "),
  };
}
