/** Every subject of the system, as functions; the literal form stands above each. */

import { createHash } from "node:crypto";

import { MeshError } from "@mesh/kernel";

const NODE = /^[0-9a-z]{20}$/;
const ULID = /^[0-9a-z]{26}$/;
const METHOD = /^[a-z][a-z_]{0,31}$/;

/** Stream names. */
export const STREAM = { work: "WORK", events: "EV" } as const;

/** Durable consumer of the event ingester. */
export const INGEST_DURABLE = "ingest";

/** Queue group shared by coordinator replicas. */
export const COORDINATOR_QUEUE = "coord";

/** 20-character lower-case digest of a node's public nkey: the `<node>` token of subjects. */
export function nodeDigest(nkeyPublic: string): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  const hash = createHash("sha256").update(nkeyPublic).digest();
  let out = "";
  for (let i = 0; i < 20; i += 1) out += alphabet.charAt((hash[i] ?? 0) & 31);
  return out;
}

/** Durable consumer of one node's work. */
export function workDurable(node: string): string {
  return `n_${token(NODE, node, "node")}`;
}

/** Private inbox prefix of a node. */
export function inboxPrefix(node: string): string {
  return `_INBOX_${token(NODE, node, "node")}`;
}

/** Subjects, each validated: a token can never widen into another subject. */
export const subjects = {
  // mesh.v1.up.<node>.hb
  heartbeat: (node: string): string => `mesh.v1.up.${token(NODE, node, "node")}.hb`,
  // mesh.v1.up.<node>.rpc.<method>
  rpc: (node: string, method: string): string =>
    `mesh.v1.up.${token(NODE, node, "node")}.rpc.${token(METHOD, method, "method")}`,
  // mesh.v1.up.<node>.ev.<run>; run is the ULID part of a run id
  events: (node: string, runUlid: string): string =>
    `mesh.v1.up.${token(NODE, node, "node")}.ev.${token(ULID, runUlid, "run")}`,
  // mesh.v1.down.<node>.cmd
  command: (node: string): string => `mesh.v1.down.${token(NODE, node, "node")}.cmd`,
  // mesh.v1.work.<node>
  work: (node: string): string => `mesh.v1.work.${token(NODE, node, "node")}`,
  // mesh.v1.tail.<run>
  tail: (runUlid: string): string => `mesh.v1.tail.${token(ULID, runUlid, "run")}`,
  // mesh.v1.feed.<workspace>; workspace is the ULID part of a workspace id
  feed: (workspaceUlid: string): string => `mesh.v1.feed.${token(ULID, workspaceUlid, "workspace")}`,
  // mesh.v1.eval.<eval>; eval is the ULID part of an eval id
  evalNews: (evalUlid: string): string => `mesh.v1.eval.${token(ULID, evalUlid, "eval")}`,
  anyEvalNews: "mesh.v1.eval.*",
  anyFeed: "mesh.v1.feed.*",
  anyHeartbeat: "mesh.v1.up.*.hb",
  anyEvents: "mesh.v1.up.*.ev.*",
  anyWork: "mesh.v1.work.*",
  anyTail: "mesh.v1.tail.*",
  // mesh.v1.up.*.rpc.<method>
  anyRpc: (method: string): string => `mesh.v1.up.*.rpc.${token(METHOD, method, "method")}`,
} as const;

/** The `<node>` token of an up, down or work subject. */
export function nodeOfSubject(subject: string): string {
  const parts = subject.split(".");
  const node = parts[3] ?? "";
  return token(NODE, node, "node");
}

/** The `<run>` token of an events or tail subject. */
export function runOfSubject(subject: string): string {
  return token(ULID, subject.slice(subject.lastIndexOf(".") + 1), "run");
}

/** The `<workspace>` token of a feed subject. */
export function workspaceOfSubject(subject: string): string {
  return token(ULID, subject.slice(subject.lastIndexOf(".") + 1), "workspace");
}

/** The `<eval>` token of a subject that tells of an eval. */
export function evalOfSubject(subject: string): string {
  return token(ULID, subject.slice(subject.lastIndexOf(".") + 1), "eval");
}

function token(shape: RegExp, value: string, what: string): string {
  if (!shape.test(value)) throw new MeshError("invalid_argument", `"${value}" is not a ${what} token of a subject`);
  return value;
}
