/**
 * Joining a mesh with one token.
 *
 * J1  The private key is made on the device and never leaves it.
 * J2  The token is never written to disk.
 * J3  A failed join changes nothing but a possibly new key file; a repeated join to the same coordinator is harmless.
 */

import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";

import { type Clock, MeshError, takeLock } from "@mesh/kernel";

import { deviceFacts } from "../inventory/inventory.ts";
import type { AgentLog } from "../log.ts";
import { AGENT_VERSION, PROTOCOL } from "../version.ts";
import { credentialFields, requestJoin } from "./credentials.ts";
import { parseCoordinatorUrl, parseJoinToken } from "./join-token.ts";
import { type NodeRecord, readNodeFile, removeNodeFile, writeNodeFile } from "./node-file.ts";
import { loadOrCreateKey, removeKey } from "./node-key.ts";

/** How to join. */
export interface JoinOptions {
  /** The coordinator's one address. */
  readonly url: string;
  /** As printed by `yao node token create`. */
  readonly token: string;
  /** Wanted name; the host name when absent. */
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Wanted parallel runs; absent lets the coordinator decide. */
  readonly slots?: number;
  readonly dataDir: string;
  readonly log: AgentLog;
  readonly clock: Clock;
  /** Search path for the inventory. */
  readonly path: string;
}

/** Result of a join. */
export interface JoinResult {
  readonly nodeId: string;
  readonly name: string;
  /** True when the directory belonged to this coordinator before; the token was not used then. */
  readonly alreadyJoined: boolean;
}

/** Path of the lock that a running agent holds. */
export function agentLockPath(dataDir: string): string {
  return join(dataDir, "agent.lock");
}

/** Path of the journal. */
export function journalPath(dataDir: string): string {
  return join(dataDir, "journal");
}

/** Makes the device known to a coordinator and stores its credentials. */
export async function joinDevice(options: JoinOptions): Promise<JoinResult> {
  const dataDir = resolve(options.dataDir);
  const url = parseCoordinatorUrl(options.url);
  const token = parseJoinToken(options.token);
  const existing = readNodeFile(dataDir);
  if (existing !== undefined) return alreadyJoined(existing, url, options);
  const lock = takeLock(agentLockPath(dataDir), "yao node join");
  try {
    const key = loadOrCreateKey(dataDir);
    const joined = await requestJoin({ url, pin: token.pin }, key, {
      token: token.secret,
      name: options.name ?? hostname(),
      labels: options.labels,
      facts: deviceFacts(options.path),
      slots: options.slots ?? 0,
      protocol: PROTOCOL,
      version: AGENT_VERSION,
    });
    writeNodeFile(dataDir, {
      url,
      node_id: joined.node_id,
      name: joined.name,
      digest: joined.digest,
      ...credentialFields(joined.credentials, options.clock.now()),
      ...(token.pin !== undefined && { pin: token.pin }),
      slots: options.slots ?? 0,
    });
    options.log.info({ nodeId: joined.node_id, name: joined.name, url }, "joined");
    return { nodeId: joined.node_id, name: joined.name, alreadyJoined: false };
  } finally {
    lock.release();
  }
}

/**
 * Forgets the coordinator, the device's identity and what was not sent yet; returns what it was, or undefined when the
 * directory had not joined.
 */
export function leaveMesh(dataDir: string): { readonly url: string; readonly name: string } | undefined {
  const directory = resolve(dataDir);
  const record = readNodeFile(directory);
  if (record === undefined) return undefined;
  const lock = takeLock(agentLockPath(directory), "yao node leave");
  try {
    removeNodeFile(directory);
    removeKey(directory);
    rmSync(journalPath(directory), { recursive: true, force: true });
  } finally {
    lock.release();
  }
  return { url: record.url, name: record.name };
}

function alreadyJoined(existing: NodeRecord, url: string, options: JoinOptions): JoinResult {
  if (existing.url !== url) {
    throw new MeshError(
      "failed_precondition",
      `this device already belongs to ${existing.url} as ${existing.name}. Leave it with: yao node leave, or keep both by choosing another directory with --data`,
    );
  }
  options.log.info({ nodeId: existing.node_id, name: existing.name, url }, "already joined");
  return { nodeId: existing.node_id, name: existing.name, alreadyJoined: true };
}
