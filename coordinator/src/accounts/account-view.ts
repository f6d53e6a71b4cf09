/** People and sessions as the wire says them. */

import { rfc3339 } from "@mesh/kernel";
import type { Account, Session } from "@mesh/proto";

import type { SessionRow } from "../auth/session-store.ts";
import type { AccountRow } from "./account-store.ts";

/** A person; the password itself is never told. */
export function toAccount(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    display_name: row.display_name,
    is_admin: row.is_admin,
    has_password: row.password !== null,
    locale: row.locale,
    theme: row.theme,
    preferences_json: row.preferences,
    created_at: rfc3339(row.created_at.getTime()),
    disabled: row.disabled_at !== null,
  };
}

/** A session; `currentId` is that of the caller. */
export function toSession(row: SessionRow, currentId: string): Session {
  return {
    id: row.id,
    created_at: rfc3339(row.created_at.getTime()),
    last_used_at: rfc3339(row.last_used_at.getTime()),
    expires_at: rfc3339(row.expires_at.getTime()),
    user_agent: row.user_agent,
    is_current: row.id === currentId,
  };
}
