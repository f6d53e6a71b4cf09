/** Opening a session: the row, its text and the audit row, in the transaction that let the person in. */

import { type Ids, rfc3339 } from "@mesh/kernel";
import { insertAudit, type Tx } from "@mesh/store";

import { csrfTokenOf, hashSecret, newSessionText } from "../auth/session.ts";
import { insertSession, trimSessions } from "../auth/session-store.ts";
import type { Call } from "../gateway/operation.ts";
import type { AccountRow } from "./account-store.ts";

/** A session that was opened. */
export interface OpenedSession {
  /** Its text, which is stored nowhere. */
  readonly token: string;
  readonly csrfToken: string;
  readonly expiresAt: string;
}

/** More than anybody has browsers; the longest unused one goes. */
const MAX_SESSIONS_PER_USER = 100;

/** Opens a session for a person; `how` is the way in, for the audit. */
export async function openSession(
  ids: Ids,
  tx: Tx,
  account: Pick<AccountRow, "id" | "name">,
  { how, client }: { readonly how: "password" | "code" | "invitation" | "oidc"; readonly client: Call["client"] },
): Promise<OpenedSession> {
  const token = newSessionText();
  const id = ids.next("sess");
  const userAgent = client?.userAgent ?? "";
  await trimSessions(tx, account.id, MAX_SESSIONS_PER_USER - 1);
  const expiresAt = await insertSession(tx, { id, userId: account.id, hash: hashSecret(token), userAgent });
  await insertAudit(tx, {
    id: ids.next("audit"),
    actor: `user:${account.name}`,
    action: "login",
    object: id,
    detail: { how, address: client?.address ?? "", user_agent: userAgent },
  });
  return { token, csrfToken: csrfTokenOf(token), expiresAt: rfc3339(expiresAt.getTime()) };
}
