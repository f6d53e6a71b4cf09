/**
 * The keys that decide who may use the bus: operator, system account, mesh account and its signing key, in one file.
 *
 * T1  The file appears whole or not at all (written aside, linked into place); two makers agree on the first one's.
 * T2  Seeds never leave this process, except those of credentials handed out on purpose.
 * T3  A node's JWT allows its own subjects, its own consumer and its own inbox; everything else is refused by the server.
 */

import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

import { type Clock, isObject, MeshError } from "@mesh/kernel";
import { encodeAccount, encodeOperator, encodeUser, fromSeed, type KeyPair } from "@nats-io/jwt";
import { createAccount, createOperator, createUser } from "@nats-io/nkeys";

import { MAX_PAYLOAD_BYTES } from "./errors.ts";
import { isUserNkey } from "./nkey.ts";
import { inboxPrefix, nodeDigest, workDurable } from "./subjects.ts";

/** What a connection shows to the server; `jwt` is asked again at every attempt. */
export interface BusCredentials {
  readonly jwt: () => string;
  readonly seed: Uint8Array;
}

/** Revoked nodes: public nkey to the second from which on JWTs issued before are refused. */
export type Revocations = Readonly<Record<string, number>>;

/** A node's JWT and when it ends, in milliseconds since the epoch. */
export interface NodeJwt {
  readonly jwt: string;
  readonly expiresAt: number;
}

/** What a nats-server must be told to trust what this trust signs. */
export interface ServerClaims {
  readonly operatorJwt: string;
  readonly system: { readonly id: string; readonly jwt: string };
  readonly mesh: { readonly id: string; readonly jwt: string };
}

/** Longest life of a node's JWT; revocations older than this are forgotten. */
export const MAX_NODE_JWT_MS: number = 7 * 24 * 3_600_000;

const FILE = "trust.json";
const ROLES = ["operator", "system", "mesh", "signing"] as const;
const SECOND_NS = 1_000_000_000;
const ALL = { pub: { allow: [">"], deny: [] }, sub: { allow: [">"], deny: [] } };

type Keys = Readonly<Record<(typeof ROLES)[number], KeyPair>>;

/** The trust in `dir`, made there when it is missing. */
export function createTrust(dir: string, clock: Pick<Clock, "now">): NatsTrust {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!existsSync(join(dir, FILE))) writeKeys(dir);
  return loadTrust(dir, clock);
}

/** The trust in `dir`, or an error that says what to do. */
export function loadTrust(dir: string, clock: Pick<Clock, "now">): NatsTrust {
  const path = join(dir, FILE);
  if (!existsSync(path)) {
    throw new MeshError(
      "not_found",
      `${path} does not exist; copy the trust directory of this mesh there, or start without one`,
    );
  }
  return new NatsTrust(readKeys(path), clock);
}

/** Signs what servers and clients of the bus need; see the guarantees above. */
export class NatsTrust {
  readonly #keys: Keys;
  readonly #clock: Pick<Clock, "now">;

  constructor(keys: Keys, clock: Pick<Clock, "now">) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Public id of the account all nodes and coordinators are in. */
  get meshAccount(): string {
    return this.#keys.mesh.getPublicKey();
  }

  /** A JWT with which the holder of `nkey` may act as that node, and as nobody else. */
  async issueNode(node: { readonly nkey: string; readonly digest: string; readonly ttlMs: number }): Promise<NodeJwt> {
    if (!isUserNkey(node.nkey))
      throw new MeshError("invalid_argument", "the device's key is not the public nkey of a user");
    if (node.digest !== nodeDigest(node.nkey)) {
      throw new MeshError("invalid_argument", "the node's digest does not belong to its key");
    }
    const exp = Math.floor((this.#clock.now() + Math.min(node.ttlMs, MAX_NODE_JWT_MS)) / 1000);
    const jwt = await this.#user(node.digest, node.nkey, nodePermissions(node.digest), { exp });
    return { jwt, expiresAt: exp * 1000 };
  }

  /** Credentials with all rights inside the mesh account, for this process only. */
  async issueCoordinator(): Promise<BusCredentials> {
    const pair = createUser();
    const jwt = await this.#user("coordinator", pair.getPublicKey(), ALL, {});
    return { jwt: () => jwt, seed: pair.getSeed() };
  }

  /** Credentials of the system account, needed to change accounts in a running server. */
  async issueSystem(): Promise<BusCredentials> {
    const pair = createUser();
    const jwt = await encodeUser("system", pair, this.#keys.system, ALL);
    return { jwt: () => jwt, seed: pair.getSeed() };
  }

  /** Claims of the mesh account with these revocations. */
  async accountJwt(revocations: Revocations): Promise<string> {
    return await encodeAccount(
      "MESH",
      this.#keys.mesh,
      {
        limits: { ...ACCOUNT_LIMITS, mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 },
        signing_keys: [this.#keys.signing.getPublicKey()],
        revocations: { ...revocations },
      },
      { signer: this.#keys.operator },
    );
  }

  /** All that stands in a server's configuration. */
  async serverClaims(revocations: Revocations): Promise<ServerClaims> {
    const { operator, system } = this.#keys;
    return {
      operatorJwt: await encodeOperator("yao", operator, { system_account: system.getPublicKey() }),
      system: {
        id: system.getPublicKey(),
        jwt: await encodeAccount("SYS", system, { limits: ACCOUNT_LIMITS }, { signer: operator }),
      },
      mesh: { id: this.meshAccount, jwt: await this.accountJwt(revocations) },
    };
  }

  #user(
    name: string,
    nkey: string,
    user: Parameters<typeof encodeUser>[3],
    dates: { readonly exp?: number },
  ): Promise<string> {
    return encodeUser(name, nkey, this.#keys.mesh, user, { signer: this.#keys.signing, ...dates });
  }
}

// Explicit because an absent limit means 0, "nothing allowed", to old servers.
const ACCOUNT_LIMITS = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: 0,
  disallow_bearer: true,
};

// Allow lists only: deny rules could be passed by queue subscriptions in old servers.
function nodePermissions(digest: string): Parameters<typeof encodeUser>[3] {
  const durable = workDurable(digest);
  return {
    pub: {
      allow: [
        `mesh.v1.up.${digest}.>`,
        `$JS.API.CONSUMER.MSG.NEXT.WORK.${durable}`,
        `$JS.API.CONSUMER.INFO.WORK.${durable}`,
        `$JS.ACK.WORK.${durable}.>`,
      ],
      deny: [],
    },
    sub: { allow: [`mesh.v1.down.${digest}.>`, `${inboxPrefix(digest)}.>`], deny: [] },
    // Commands are answered to the coordinator's inbox, which no list could name: one reply, soon.
    resp: { max: 1, ttl: 30 * SECOND_NS },
    subs: 200,
    data: -1,
    payload: MAX_PAYLOAD_BYTES,
    allowed_connection_types: ["STANDARD", "WEBSOCKET"],
  };
}

function writeKeys(dir: string): void {
  const seed = (pair: KeyPair): string => Buffer.from(pair.getSeed()).toString("latin1");
  const keys = {
    operator: seed(createOperator()),
    system: seed(createAccount()),
    mesh: seed(createAccount()),
    signing: seed(createAccount()),
  };
  const path = join(dir, FILE);
  const aside = `${path}.${process.pid}`;
  rmSync(aside, { force: true });
  const fd = openSync(aside, "wx", 0o600);
  writeSync(fd, JSON.stringify(keys));
  fsyncSync(fd);
  closeSync(fd);
  try {
    linkSync(aside, path);
  } catch (error) {
    // Another process was first: its keys are the ones.
    if (!existsSync(path)) throw MeshError.from(error);
  } finally {
    rmSync(aside, { force: true });
  }
}

function readKeys(path: string): Keys {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
    const seeds = isObject(parsed) ? parsed : {};
    const pairs = ROLES.map((role) => [role, fromSeed(Buffer.from(String(seeds[role]), "latin1"))] as const);
    return Object.fromEntries(pairs) as Keys;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EACCES") throw MeshError.from(error);
    throw new MeshError(
      "data_loss",
      `${path} is damaged; restore it from a backup, or delete it and let every device join again`,
      { cause: error },
    );
  }
}
