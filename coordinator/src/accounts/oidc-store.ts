/** Statements on identities at OpenID Connect providers. */

import type { Tx } from "@mesh/store";

/** The user behind an identity. */
export async function findIdentity(tx: Tx, issuer: string, subject: string): Promise<string | undefined> {
  const [row] = await tx<{ user_id: string }[]>`
    SELECT user_id FROM user_identities WHERE issuer = ${issuer} AND subject = ${subject}`;
  return row?.user_id;
}

/** Remembers whose an identity is. */
export async function insertIdentity(tx: Tx, issuer: string, subject: string, userId: string): Promise<void> {
  await tx`INSERT INTO user_identities (issuer, subject, user_id) VALUES (${issuer}, ${subject}, ${userId})`;
}
