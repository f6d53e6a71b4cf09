/** Cutting a node off: its key goes into the account's revocations, and running servers are told at once. */

import { isObject, MeshError } from "@mesh/kernel";

import type { Bus } from "./bus.ts";
import { MAX_NODE_JWT_MS, type NatsTrust, type Revocations } from "./trust.ts";

const PUSH_MS = 5_000;

/** `revocations` and this node; entries whose JWTs have all expired are dropped. */
export function withRevoked(revocations: Revocations, nkey: string, nowMs: number): Revocations {
  const oldest = Math.floor((nowMs - MAX_NODE_JWT_MS) / 1000) - 1;
  const kept = Object.entries(revocations).filter(([, second]) => second >= oldest);
  // Plus one: a JWT issued later within this second is cut as well.
  return Object.fromEntries([...kept, [nkey, Math.floor(nowMs / 1000) + 1]]);
}

/**
 * Tells the running servers which nodes are revoked; live connections of theirs are cut.
 * `system` is a bus connected with the credentials of `issueSystem`.
 */
export async function pushRevocations(
  system: Pick<Bus, "request">,
  trust: Pick<NatsTrust, "accountJwt">,
  revocations: Revocations,
): Promise<void> {
  const jwt = await trust.accountJwt(revocations);
  const subject = "$SYS.REQ.CLAIMS.UPDATE";
  const reply = await system.request(subject, Buffer.from(jwt, "utf8"), { timeoutMs: PUSH_MS });
  const parsed = parse(reply);
  if (isObject(parsed["data"]) && parsed["data"]["code"] === 200) return;
  const why = isObject(parsed["error"]) ? String(parsed["error"]["description"]) : "no reason given";
  throw new MeshError("failed_precondition", `the NATS server did not take the new account: ${why}`);
}

function parse(reply: Uint8Array): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(reply).toString("utf8"));
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
