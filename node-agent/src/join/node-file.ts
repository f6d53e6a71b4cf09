/** `node.json`: which coordinator this device belongs to, and its current credentials. No join token is ever in it. */

import { rmSync } from "node:fs";
import { join } from "node:path";

import { isObject, MeshError } from "@mesh/kernel";

import { readIfPresent, writePrivateFile } from "./durable-file.ts";

/** What a joined device remembers. */
export interface NodeRecord {
  /** Base URL of the coordinator, without a trailing slash. */
  readonly url: string;
  readonly node_id: string;
  readonly name: string;
  /** Subject token of the node. */
  readonly digest: string;
  readonly jwt: string;
  /** RFC 3339. */
  readonly issued_at: string;
  readonly expires_at: string;
  readonly nats_urls: readonly string[];
  readonly nats_path: string;
  /** base64url SHA-256 of the coordinator's public key; absent without a pin. */
  readonly pin?: string;
  /** Wanted parallel runs, as asked at the join; 0 lets the coordinator decide. */
  readonly slots: number;
}

const FILE = "node.json";

/** Reads the record, or undefined when this directory has not joined. */
export function readNodeFile(dataDir: string): NodeRecord | undefined {
  const path = join(dataDir, FILE);
  const text = readIfPresent(path);
  if (text === undefined) return undefined;
  const record = parseRecord(text);
  if (record !== undefined) return record;
  throw new MeshError("failed_precondition", `${path} cannot be read; delete it and join again with a new token`);
}

/** Replaces the record atomically. */
export function writeNodeFile(dataDir: string, record: NodeRecord): void {
  writePrivateFile(join(dataDir, FILE), `${JSON.stringify(record, null, 2)}\n`);
}

/** Forgets the coordinator. */
export function removeNodeFile(dataDir: string): void {
  rmSync(join(dataDir, FILE), { force: true });
}

function parseRecord(text: string): NodeRecord | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const { url, node_id, name, digest, jwt, issued_at, expires_at, nats_urls, nats_path, pin, slots } = parsed;
  const texts = { url, node_id, name, digest, jwt, issued_at, expires_at, nats_path };
  if (Object.values(texts).some((value) => typeof value !== "string")) return undefined;
  if (!Array.isArray(nats_urls) || nats_urls.some((value) => typeof value !== "string")) return undefined;
  return {
    ...(texts as Record<keyof typeof texts, string>),
    nats_urls: nats_urls as string[],
    ...(typeof pin === "string" && { pin }),
    slots: typeof slots === "number" && Number.isInteger(slots) && slots >= 0 ? slots : 0,
  };
}
