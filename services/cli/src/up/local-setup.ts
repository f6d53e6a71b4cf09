/**
 * What makes a fresh system usable at once: the admin token kept, the command line logged in, this device joined, a demo app pushed.
 *
 * U1  The admin token is on disk (0600) before anybody is told that the system is ready.
 * U2  Nothing a person chose is replaced: neither another coordinator's login, nor an app, nor a node's identity.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { type Clock, isObject, MeshError } from "@mesh/kernel";
import type { CreateJoinTokenResponse, ListAppsResponse } from "@mesh/proto";

import { isLoopback } from "../client/address.ts";
import { Client } from "../client/client.ts";
import { readCredential, writeCredential, writePrivateFile } from "../client/credential.ts";
import { nodeDirectory } from "../config.ts";

/** What joins this device: the node agent's own `joinNode`. */
export type JoinDevice = (request: {
  readonly url: string;
  readonly token: string;
  readonly dataDir: string;
}) => Promise<void>;

/** What a setup works with. */
export interface LocalSetupOptions {
  readonly clock: Clock;
  readonly dataDir: string;
  readonly url: string;
  /** Present once in the life of a system. */
  readonly adminToken: string | undefined;
  /** A token given by environment, for systems whose admin token is elsewhere. */
  readonly givenToken: string | undefined;
}

const TOKEN_FILE = "admin-token";

/** Keeps the admin token and logs the command line in, and returns a client that may administrate; without a token, one that may not. */
export function keepAdminToken(options: LocalSetupOptions): Client {
  const { dataDir, url, adminToken } = options;
  if (adminToken !== undefined) writePrivateFile(dataDir, TOKEN_FILE, `${adminToken}\n`);
  const kept = adminToken ?? readToken(dataDir);
  const stored = readCredential(dataDir);
  const isStale = stored !== undefined && stored.token === kept && stored.url !== url;
  if (kept !== undefined && (stored === undefined || isStale)) {
    writeCredential(dataDir, { ...stored, url, token: kept });
  }
  const token = kept ?? options.givenToken ?? (stored?.url === url ? stored.token : undefined);
  return new Client(options.clock, { url, token });
}

/** Whether this data directory keeps an admin token. */
export function hasAdminToken(dataDir: string): boolean {
  return readToken(dataDir) !== undefined;
}

/** Joins this device unless it has an identity already. */
export async function joinThisDevice(client: Client, dataDir: string, joinDevice: JoinDevice): Promise<void> {
  const directory = nodeDirectory(dataDir);
  const record = nodeRecord(directory);
  const known = record?.["url"];
  if (known === client.url) return;
  if (record !== undefined && typeof known === "string" && isLoopback(known)) {
    // The port was changed: the same device in the same mesh, under a new address.
    writePrivateFile(directory, "node.json", `${JSON.stringify({ ...record, url: client.url }, null, 2)}\n`);
    return;
  }
  if (!client.hasToken) {
    throw new MeshError(
      "failed_precondition",
      "this device has not joined yet and there is no admin token to let it join — give one in YAO_TOKEN, or start with --no-node",
    );
  }
  const { token } = await client.post<CreateJoinTokenResponse>("/v1/node-tokens", {
    body: { ttl_seconds: 300, uses: 1 },
  });
  await joinDevice({ url: client.url, token, dataDir: directory });
}

/** Pushes the demo app when the default workspace has no app; returns whether it did. */
export async function pushDemoApp(client: Client): Promise<boolean> {
  if (!client.hasToken) return false;
  const { apps } = await client.get<ListAppsResponse>("/v1/workspaces/default/apps");
  if (apps.length > 0) return false;
  const { bundleApp, demoAppDirectory, readAppDirectory } = await import("@mesh/assistants");
  const { bytes } = bundleApp(await readAppDirectory(demoAppDirectory));
  await client.post("/v1/workspaces/default/apps/demo/versions", { bytes });
  return true;
}

function nodeRecord(directory: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(join(directory, "node.json"), "utf8"));
    return isObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function readToken(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, TOKEN_FILE), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
