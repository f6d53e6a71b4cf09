/**
 * Lets devices in: join tokens, joining, renewing credentials.
 *
 * J1  A join token works for its number of devices and until it expires; only its hash is stored.
 * J2  A device proves that it holds its key; a node's credentials are only ever issued to that key.
 * J3  Joining is one transaction: after any failure the token is unused and there is no node.
 * J4  A device that never got the answer may ask again: its key is a member already, so a token that is used up gives it nothing
 *     new.
 */

import { createHash, randomBytes } from "node:crypto";

import { nodeDigest, type NatsTrust, verifyNkey } from "@mesh/bus";
import { type Clock, type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type { JoinNodeRequest, JoinNodeResponse, NodeCredentials, RenewNodeRequest } from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import { checkLabels, checkName } from "./node-name.ts";
import { findNodeByKey, insertNode, lockJoinToken, lockNodes, updateNode, useJoinToken } from "./node-store.ts";

/** Life of a node's JWT; renewed at half of it. */
const JWT_MS = 24 * 3_600_000;
const CLOCK_SKEW_MS = 5 * 60_000;

/** The protocol this coordinator speaks; it also understands the one before. */
export const PROTOCOL = 1;

/** What enrolment uses. */
export interface EnrolmentDeps {
  readonly store: Store;
  readonly trust: NatsTrust;
  readonly clock: Clock;
  readonly ids: Ids;
  /** NATS addresses that devices may try before the gateway's tunnel. */
  readonly publicNatsUrls: readonly string[];
  /** SPKI pin of the gateway's certificate, when it serves TLS. */
  readonly spkiPin: string | undefined;
  /** Makes the node's work consumer. */
  readonly prepareNode: (digest: string, slots: number) => Promise<void>;
}

/** What a new join token is for. */
export interface JoinTokenSpec {
  readonly ttlMs: number;
  readonly uses: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly workspaceIds: readonly string[];
  readonly actor: string;
}

/** Makes a join token; the text is returned once and not kept. */
export async function createJoinToken(
  deps: EnrolmentDeps,
  spec: JoinTokenSpec,
): Promise<{ token: string; expiresAt: string }> {
  checkLabels(spec.labels);
  const secret = `yj_${randomBytes(24).toString("base64url")}`;
  const expiresAt = rfc3339(deps.clock.now() + spec.ttlMs);
  await deps.store.sql.begin(async (tx) => {
    await tx`
      INSERT INTO join_tokens (hash, uses_left, labels, workspace_ids, created_by, expires_at)
      VALUES (${hashOf(secret)}, ${spec.uses}, ${tx.json(spec.labels)}, ${[...spec.workspaceIds]}, ${spec.actor},
        now() + ${spec.ttlMs} * interval '1 ms')`;
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: spec.actor,
      action: "node_token.create",
      object: "",
      detail: { uses: spec.uses, labels: spec.labels },
    });
  });
  return { token: deps.spkiPin === undefined ? secret : `${secret}.${deps.spkiPin}`, expiresAt };
}

/** Lets a device in, or lets a known device in again. */
export async function joinNode(deps: EnrolmentDeps, request: JoinNodeRequest): Promise<JoinNodeResponse> {
  if (request.protocol !== PROTOCOL) throw outdated(request.protocol);
  // The pin behind the dot is for the device; the token is what stands before it.
  const secret = request.token.split(".")[0] ?? "";
  if (!isSigned(request.nkey, `yao-join:${request.token}`, request.signature)) {
    throw new MeshError(
      "unauthenticated",
      "the device did not prove that it holds its key; update yao on the device and join again",
    );
  }
  const joined = await deps.store.sql.begin((tx) => admit(deps, tx, request, hashOf(secret)));
  // The device is in, whatever NATS does: its consumer is made when it says hello, too.
  await deps.prepareNode(joined.digest, joined.slots).catch(() => undefined);
  return {
    node_id: joined.nodeId,
    name: joined.name,
    digest: joined.digest,
    credentials: await issue(deps, request.nkey, joined.digest),
  };
}

/** Fresh credentials for a node that signs with its key. */
export async function renewNode(deps: EnrolmentDeps, request: RenewNodeRequest): Promise<NodeCredentials> {
  if (Math.abs(deps.clock.now() - request.at_ms) > CLOCK_SKEW_MS) {
    throw new MeshError(
      "failed_precondition",
      `the device's clock is off by more than ${CLOCK_SKEW_MS / 60_000} minutes; set it right`,
      {
        details: { now_ms: deps.clock.now() },
      },
    );
  }
  if (!isSigned(request.nkey, `yao-renew:${request.nkey}:${request.at_ms}`, request.signature)) {
    throw new MeshError("unauthenticated", "the signature does not belong to this device's key");
  }
  const node = await findNodeByKey(deps.store.sql, request.nkey);
  if (node === undefined || node.removed_at !== null) {
    throw new MeshError(
      "permission_denied",
      "this device was removed; to let it in again, type `yao node leave` on it and join with a new token: yao node token create",
      { details: { reason: "removed" } },
    );
  }
  return issue(deps, request.nkey, node.digest);
}

interface Admitted {
  readonly nodeId: string;
  readonly name: string;
  readonly digest: string;
  readonly slots: number;
}

async function admit(deps: EnrolmentDeps, tx: Tx, request: JoinNodeRequest, hash: Buffer): Promise<Admitted> {
  const token = await lockJoinToken(tx, hash);
  if (token === undefined) throw refused("the join token is not known");
  if (token.expired) throw refused("the join token has expired");
  await lockNodes(tx);
  const known = await findNodeByKey(tx, request.nkey);
  if (known?.removed_at instanceof Date) {
    throw new MeshError(
      "failed_precondition",
      "this device's key was removed; forget it with `yao node leave` on the device, then join again",
    );
  }
  if (token.uses_left <= 0) {
    if (known === undefined) throw refused("the join token was used already");
    return { nodeId: known.id, name: known.name, digest: known.digest, slots: known.slots };
  }
  const labels = { ...request.labels, ...token.labels };
  checkLabels(labels);
  const facts = request.facts ?? {};
  await useJoinToken(tx, hash);
  const audit = { id: deps.ids.next("audit"), actor: "node", action: "node.join" };
  if (known !== undefined) {
    const all = { ...known.labels, ...labels };
    checkLabels(all);
    await updateNode(tx, known.id, { labels: all });
    await insertAudit(tx, { ...audit, object: known.id, detail: { name: known.name, again: true } });
    return { nodeId: known.id, name: known.name, digest: known.digest, slots: known.slots };
  }
  const node = {
    id: deps.ids.next("node"),
    digest: nodeDigest(request.nkey),
    nkey: request.nkey,
    name: checkName(request.name === "" ? (request.facts?.hostname ?? "") : request.name),
    labels,
    facts,
    slots: request.slots === 0 ? defaultSlots(request.facts?.cpus ?? 0) : Math.min(request.slots, 256),
    workspaceIds: token.workspace_ids,
    version: request.version.slice(0, 64),
  };
  const name = await insertNode(tx, node);
  await insertAudit(tx, { ...audit, object: node.id, detail: { name } });
  return { nodeId: node.id, name, digest: node.digest, slots: node.slots };
}

async function issue(deps: EnrolmentDeps, nkey: string, digest: string): Promise<NodeCredentials> {
  const { jwt, expiresAt } = await deps.trust.issueNode({ nkey, digest, ttlMs: JWT_MS });
  return { jwt, expires_at: rfc3339(expiresAt), nats_urls: [...deps.publicNatsUrls], nats_path: "/nats" };
}

function isSigned(nkey: string, text: string, signature: string): boolean {
  return verifyNkey(nkey, Buffer.from(text), Buffer.from(signature, "base64url"));
}

function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

// Agent runs mostly wait for models, so a device takes more of them than it has processors.
function defaultSlots(cpus: number): number {
  return Math.min(32, Math.max(4, cpus * 2));
}

function refused(why: string): MeshError {
  return new MeshError("unauthenticated", `${why}; make a new one with: yao node token create`);
}

function outdated(protocol: number): MeshError {
  const side = protocol > PROTOCOL ? "coordinator" : "device";
  return new MeshError(
    "failed_precondition",
    `the device speaks protocol ${protocol}, the coordinator ${PROTOCOL}; update yao on the ${side}`,
  );
}
