/** The first start: a user `admin`, the workspace `default`, and a token that is shown once. */

import type { Ids } from "@mesh/kernel";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import { insertLoginCode } from "../accounts/account-store.ts";
import { hashSecret, newCode } from "./session.ts";
import { hashToken, newTokenText } from "./token.ts";
import { findUser, insertToken, insertUser } from "./token-store.ts";

/** What the first start made. */
export interface Bootstrapped {
  /** The admin token's text, only when this call made it; it is stored nowhere. */
  readonly adminToken: string | undefined;
}

const ADMIN = "admin";
/** A day: time enough to find a log file on a server. */
const FIRST_CODE_SECONDS = 86_400;
/** Any number that no other advisory lock uses. */
const BOOTSTRAP_LOCK = 7_400_001;

/** Makes what is missing; safe to call at every start, by several replicas at once. */
export async function bootstrap(store: Store, ids: Ids): Promise<Bootstrapped> {
  const adminToken = await store.sql.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(${BOOTSTRAP_LOCK})`;
    if ((await findUser(tx, ADMIN)) !== undefined) return undefined;
    const admin = await insertUser(tx, { id: ids.next("user"), name: ADMIN, is_admin: true });
    if (admin === undefined) return undefined;
    const workspaceId = ids.next("ws");
    await tx`INSERT INTO workspaces (id, name, is_default) VALUES (${workspaceId}, 'default', true)`;
    await tx`INSERT INTO workspace_members (workspace_id, user_id, role) VALUES (${workspaceId}, ${admin.id}, 'owner')`;
    await insertAudit(tx, {
      id: ids.next("audit"),
      actor: "system",
      action: "workspace.create",
      object: workspaceId,
      workspaceId,
    });
    return issue(tx, ids, admin.id);
  });
  return { adminToken };
}

/** A further admin token, for a system whose first one was lost; whoever may call this owns the database anyway. */
export async function issueAdminToken(store: Store, ids: Ids): Promise<string> {
  return store.sql.begin(async (tx) => {
    const admin =
      (await findUser(tx, ADMIN)) ?? (await insertUser(tx, { id: ids.next("user"), name: ADMIN, is_admin: true }));
    return issue(tx, ids, admin?.id ?? "");
  });
}

/** A one-time code that logs a browser in as the administrator; whoever may call this owns the database anyway. */
export async function issueLoginCode(store: Store, ids: Ids): Promise<string | undefined> {
  return store.sql.begin(async (tx) => {
    const admin = await findUser(tx, ADMIN);
    if (admin === undefined) return undefined;
    const code = newCode();
    await insertLoginCode(tx, { userId: admin.id, hash: hashSecret(code), ttlSeconds: FIRST_CODE_SECONDS });
    await insertAudit(tx, {
      id: ids.next("audit"),
      actor: "system",
      action: "login_code.create",
      object: admin.id,
    });
    return code;
  });
}

async function issue(tx: Tx, ids: Ids, userId: string): Promise<string> {
  const text = newTokenText();
  const id = ids.next("tok");
  await insertToken(tx, {
    id,
    userId,
    name: "bootstrap",
    hash: hashToken(text),
    scopes: ["admin"],
    workspaceIds: [],
    ttlSeconds: undefined,
    madeWith: undefined,
  });
  await insertAudit(tx, {
    id: ids.next("audit"),
    actor: "system",
    action: "token.create",
    object: id,
    detail: { user: ADMIN },
  });
  return text;
}
