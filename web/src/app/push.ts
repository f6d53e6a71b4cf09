/** Notifications to this browser, also while the page is closed (Web Push). */

import type { PushSubscription as Stored } from "@mesh/proto";

import {
  getPushKey,
  listPushSubscriptions,
  listSessions,
  putPushSubscription,
  removePushSubscription,
} from "../api/accounts.ts";
import { PUSH_KEPT, readKept, writeKept } from "./kept.ts";
import { useSession } from "./session.ts";

/** What one may be told of. */
export const PUSH_KINDS = ["needs_input", "failed", "done"] as const;

/** One of {@link PUSH_KINDS}. */
export type PushKind = (typeof PUSH_KINDS)[number];

/** `install`: this browser offers them to installed pages only; `insecure`: the page did not come over HTTPS. */
export type PushSupport = "yes" | "denied" | "install" | "insecure" | "no";

/** Whether this browser can. */
export function pushSupport(): PushSupport {
  if (!globalThis.isSecureContext) return "insecure";
  if (!("serviceWorker" in navigator && "PushManager" in globalThis && "Notification" in globalThis)) {
    const isApple = /iPhone|iPad/.test(navigator.userAgent) && !matchMedia("(display-mode: standalone)").matches;
    return isApple ? "install" : "no";
  }
  return Notification.permission === "denied" ? "denied" : "yes";
}

/** Asks for permission where it is needed, and subscribes; undefined when the person said no. */
export async function turnPushOn(kinds: readonly PushKind[]): Promise<Stored | undefined> {
  if ((await Notification.requestPermission()) !== "granted") return undefined;
  return put({ kinds, session: await currentSession() });
}

/** Ends the subscription of this browser. */
export async function turnPushOff(): Promise<void> {
  writeKept(PUSH_KEPT, undefined);
  if ("serviceWorker" in navigator) {
    const registration = await navigator.serviceWorker.getRegistration();
    await (await registration?.pushManager.getSubscription())?.unsubscribe();
  }
  const { subscriptions } = await listPushSubscriptions({});
  for (const { id, is_current } of subscriptions) if (is_current) await removePushSubscription({ subscription: id });
}

/**
 * At the page's start: after a new log-in, or when the browser made a new address, the coordinator learns of it. What was removed
 * from another browser stays removed. Never fails.
 */
export async function resumePush(): Promise<void> {
  const kept = readPush();
  const { account } = useSession.getState();
  if (kept === undefined || kept.account !== account?.id || pushSupport() !== "yes") return;
  if (Notification.permission !== "granted") return;
  try {
    const [session, { subscriptions }] = await Promise.all([currentSession(), listPushSubscriptions({})]);
    const { pushManager } = await navigator.serviceWorker.ready;
    const present = await pushManager.getSubscription();
    const isSame = session === kept.session && present?.endpoint === kept.endpoint;
    if (!isSame) await put({ kinds: kept.kinds, session });
    else if (!subscriptions.some(({ is_current }) => is_current)) writeKept(PUSH_KEPT, undefined);
  } catch {
    // Tried again at the next start; the settings show how it is.
  }
}

interface KeptPush {
  readonly account: string;
  readonly session: string;
  readonly endpoint: string;
  readonly kinds: readonly PushKind[];
}

function readPush(): KeptPush | undefined {
  const [account = "", session = "", endpoint = "", ...kinds] = readKept(PUSH_KEPT)?.split(" ") ?? [];
  if (endpoint === "") return undefined;
  return { account, session, endpoint, kinds: PUSH_KINDS.filter((kind) => kinds.includes(kind)) };
}

async function put(of: Pick<KeptPush, "kinds" | "session">): Promise<Stored | undefined> {
  const own = await subscribe();
  const { subscription } = await putPushSubscription({ ...own, kinds: [...of.kinds] });
  const { account } = useSession.getState();
  writeKept(PUSH_KEPT, [account?.id ?? "", of.session, own.endpoint, ...of.kinds].join(" "));
  return subscription;
}

async function currentSession(): Promise<string> {
  return (await listSessions({})).sessions.find(({ is_current }) => is_current)?.id ?? "-";
}

async function subscribe(): Promise<{ readonly endpoint: string; readonly p256dh: string; readonly auth: string }> {
  const { pushManager } = await navigator.serviceWorker.ready;
  const { public_key } = await getPushKey({});
  const key = bytesOf(public_key);
  const old = await pushManager.getSubscription();
  // One made with the key of another system cannot be used, and stands in the way.
  const isOwn = old !== null && sameBytes(old.options.applicationServerKey, key);
  if (old !== null && !isOwn) await old.unsubscribe();
  const subscription =
    old !== null && isOwn ? old : await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint = "", keys = {} } = subscription.toJSON();
  return { endpoint, p256dh: keys["p256dh"] ?? "", auth: keys["auth"] ?? "" };
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

function sameBytes(one: ArrayBuffer | null, other: Uint8Array): boolean {
  return one !== null && new Uint8Array(one).toString() === other.toString();
}
