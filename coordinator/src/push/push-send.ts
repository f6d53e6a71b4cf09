/** One attempt to hand a notification to a browser's push service. */

import type { SecretBox } from "../auth/secret-box.ts";
import { sendOnce, type SendDeps, type SendResult } from "../webhooks/send.ts";
import { encryptMessage } from "./message-encryption.ts";
import { pushHeaders, type PushPayload } from "./push-message.ts";
import { vapidHeader, type VapidKeys } from "./vapid.ts";

/** What sending needs. */
export interface PushSendDeps extends SendDeps {
  readonly secretBox: SecretBox;
  readonly keys: () => Promise<VapidKeys>;
  /** As people reach the gateway. */
  readonly publicUrl: () => string;
}

/** Where it goes. */
export interface PushReceiver {
  readonly user_id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly sealed_auth: Buffer;
}

// Some services refuse a contact on a machine that only itself can reach.
const NO_CONTACT = "mailto:operator@example.com";

/** What the browser's secret is sealed for. */
export function authContext(userId: string, endpoint: string): string {
  return `push/${userId}/${endpoint}`;
}

/** Sends once; throws only for what is wrong on this side. */
export async function sendPush(
  deps: PushSendDeps,
  to: PushReceiver,
  { payload, ttlMs }: { readonly payload: PushPayload; readonly ttlMs: number },
  signal: AbortSignal,
): Promise<SendResult> {
  const auth = deps.secretBox.open(to.sealed_auth, authContext(to.user_id, to.endpoint));
  const body = encryptMessage(Buffer.from(JSON.stringify(payload)), { p256dh: to.p256dh, auth });
  const publicUrl = deps.publicUrl();
  const subject = publicUrl.startsWith("https://") ? publicUrl : NO_CONTACT;
  const authorization = vapidHeader(await deps.keys(), { url: to.endpoint, subject, nowMs: deps.clock.now() });
  const headers = {
    ...pushHeaders(payload, ttlMs),
    authorization,
    "content-type": "application/octet-stream",
    "content-encoding": "aes128gcm",
  };
  return sendOnce(deps, { url: to.endpoint, headers, body }, signal);
}

/** Whether the push service says that the subscription is over (RFC 8030). */
export function isGone({ status }: SendResult): boolean {
  return status === 404 || status === 410;
}

/** Whether the same message may go through later. */
export function mayComeThrough({ status }: SendResult): boolean {
  return status === 0 || status === 408 || status === 429 || status >= 500;
}
