/** Trading a token or the device key for NATS credentials; the two public calls of a node. */

import { isObject, MeshError, rfc3339 } from "@mesh/kernel";
import type { JoinNodeRequest, NodeCredentials } from "@mesh/proto";

import { type CoordinatorAddress, postJson } from "./coordinator-http.ts";
import type { NodeKey } from "./node-key.ts";

/** Answer to a join. */
export interface JoinedNode {
  readonly node_id: string;
  readonly name: string;
  readonly digest: string;
  readonly credentials: NodeCredentials;
}

/** POST /v1/nodes/join; the signature binds the token to this device's key. */
export async function requestJoin(
  address: CoordinatorAddress,
  key: NodeKey,
  request: Omit<JoinNodeRequest, "nkey" | "signature">,
): Promise<JoinedNode> {
  const body: JoinNodeRequest = { ...request, nkey: key.nkey, signature: key.sign(`yao-join:${request.token}`) };
  const answer = await postJson(address, "/v1/nodes/join", body);
  if (!isObject(answer)) throw badAnswer("join");
  const { node_id, name, digest } = answer;
  const credentials = parseCredentials(answer["credentials"]);
  if (typeof node_id !== "string" || typeof name !== "string" || typeof digest !== "string" || !credentials) {
    throw badAnswer("join");
  }
  return { node_id, name, digest, credentials };
}

/** POST /v1/nodes/renew; needs nothing but the device key, so that a device that slept for weeks comes back by itself. */
export async function requestRenewal(
  address: CoordinatorAddress,
  key: NodeKey,
  nowMs: number,
): Promise<NodeCredentials> {
  const atMs = Math.round(nowMs);
  const body = { nkey: key.nkey, at_ms: atMs, signature: key.sign(`yao-renew:${key.nkey}:${atMs}`) };
  const answer = await postJson(address, "/v1/nodes/renew", body);
  const credentials = isObject(answer) ? parseCredentials(answer["credentials"]) : undefined;
  if (credentials === undefined) throw badAnswer("renewal");
  return credentials;
}

/** The credential fields of `node.json`. */
export function credentialFields(
  credentials: NodeCredentials,
  nowMs: number,
): {
  readonly jwt: string;
  readonly issued_at: string;
  readonly expires_at: string;
  readonly nats_urls: readonly string[];
  readonly nats_path: string;
} {
  return {
    jwt: credentials.jwt,
    issued_at: rfc3339(nowMs),
    expires_at: credentials.expires_at,
    nats_urls: credentials.nats_urls,
    nats_path: credentials.nats_path,
  };
}

function parseCredentials(value: unknown): NodeCredentials | undefined {
  if (!isObject(value)) return undefined;
  const { jwt, expires_at, nats_path } = value;
  // Empty lists and texts may be left out of the JSON form.
  const urls = value["nats_urls"] ?? [];
  if (typeof jwt !== "string" || jwt === "" || typeof expires_at !== "string") return undefined;
  if (!Array.isArray(urls) || urls.some((url) => typeof url !== "string")) return undefined;
  if (Number.isNaN(Date.parse(expires_at))) return undefined;
  return {
    jwt,
    expires_at,
    nats_urls: urls as string[],
    nats_path: typeof nats_path === "string" ? nats_path : "/nats",
  };
}

function badAnswer(what: string): MeshError {
  return new MeshError("internal", `the coordinator's answer to the ${what} is not understood; update this device`);
}
