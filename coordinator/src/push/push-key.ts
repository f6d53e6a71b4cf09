/** The keys this system signs push messages with: made once, the private one sealed; all replicas use the stored ones. */

import { MeshError } from "@mesh/kernel";
import type { Sql, Store } from "@mesh/store";

import type { SecretBox } from "../auth/secret-box.ts";
import { makeVapidKeys, type VapidKeys } from "./vapid.ts";

const CONTEXT = "push/vapid";

/** Gives the keys, making them the first time; the first of several replicas wins. */
export function createPushKeys({
  store,
  secretBox,
}: {
  readonly store: Pick<Store, "sql">;
  readonly secretBox: SecretBox;
}): () => Promise<VapidKeys> {
  let known: VapidKeys | undefined;
  return async () => {
    known ??= (await readKeys(store.sql, secretBox)) ?? (await makeKeys(store.sql, secretBox));
    return known;
  };
}

async function readKeys(sql: Sql, secretBox: SecretBox): Promise<VapidKeys | undefined> {
  const [row] = await sql<{ public_key: string; sealed_private: Buffer }[]>`
    SELECT public_key, sealed_private FROM push_keys`;
  return row === undefined
    ? undefined
    : { publicKey: row.public_key, privateKey: secretBox.open(row.sealed_private, CONTEXT) };
}

async function makeKeys(sql: Sql, secretBox: SecretBox): Promise<VapidKeys> {
  const made = makeVapidKeys();
  await sql`
    INSERT INTO push_keys (public_key, sealed_private) VALUES (${made.publicKey}, ${secretBox.seal(made.privateKey, CONTEXT)})
    ON CONFLICT DO NOTHING`;
  const stored = await readKeys(sql, secretBox);
  if (stored === undefined) throw new MeshError("data_loss", "the keys of push messages are gone; try again");
  return stored;
}
