/**
 * Which account the server runs as. PostgreSQL refuses to run as root, so root hands it to an ordinary account of the
 * machine; anybody else runs it as themselves.
 */

import { readFileSync, statSync } from "node:fs";

import { MeshError } from "@mesh/kernel";

/** An account to become in a child process. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

// An entry in the account database is required (initdb looks its own name up); these exist nearly everywhere.
const PREFERRED = ["yao", "postgres", "nobody"] as const;

/**
 * The account for the server, or undefined to stay who we are. A directory that an ordinary account owns already keeps
 * that owner, so that a restart does not depend on which accounts were added meanwhile.
 */
export function serverIdentity(existingDir: string): Identity | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(existingDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return chooseAccount(readFileSync("/etc/passwd", "utf8"));
}

/** Picks an ordinary account from the text of `/etc/passwd`. */
export function chooseAccount(passwd: string): Identity {
  const accounts = new Map<string, Identity>();
  for (const line of passwd.split("\n")) {
    const [name, , uid, gid] = line.split(":");
    if (name === undefined || uid === undefined || gid === undefined || !/^\d+$/.test(uid)) continue;
    if (Number(uid) !== 0) accounts.set(name, { uid: Number(uid), gid: Number(gid) });
  }
  const preferred = PREFERRED.find((name) => accounts.has(name));
  const account = preferred === undefined ? accounts.values().next().value : accounts.get(preferred);
  if (account !== undefined) return account;
  throw new MeshError(
    "failed_precondition",
    "PostgreSQL does not run as root and this machine has no other account; add one (useradd --system yao), or set YAO_DATABASE_URL to a database you run",
  );
}
