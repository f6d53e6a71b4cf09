/**
 * Passwords: scrypt in the thread pool, with its parameters stored beside the hash.
 *
 * P1  At most `maxRunning` hashes are computed at once and `maxWaiting` wait: each holds 128 MB for as long as it takes.
 * P2  A name that does not exist, and an account without a password, cost as much as a wrong password.
 * P3  Hashes are compared in constant time.
 */

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

import { MeshError } from "@mesh/kernel";

/** The cost of a hash: memory is 128 * N * r bytes. */
export interface PasswordCost {
  /** log2 of N. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** Fewest and most characters of a password. */
export const PASSWORD_CHARS = { min: 10, max: 200 } as const;

const COST: PasswordCost = { ln: 17, r: 8, p: 1 };
/** What a stored hash may ask for: a row made by someone else must not take all memory. */
const MAX_LN = 20;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const MAX_RUNNING = 2;
const MAX_WAITING = 32;

/** Hashes and checks passwords; see above. */
export class Passwords {
  readonly #cost: PasswordCost;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(cost: PasswordCost = COST) {
    this.#cost = cost;
  }

  /** What to store for a password. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    const hash = await this.#bounded(() => derive(password, salt, this.#cost));
    const { ln, r, p } = this.#cost;
    return `scrypt$ln=${ln},r=${r},p=${p}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
  }

  /** Whether `password` is the one that `stored` was made from; undefined stands for no account or no password (P2). */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const known = stored === undefined ? undefined : parse(stored);
    const { cost, salt, hash } = known ?? {
      cost: this.#cost,
      salt: Buffer.alloc(SALT_BYTES),
      hash: Buffer.alloc(HASH_BYTES),
    };
    const derived = await this.#bounded(() => derive(password, salt, cost));
    return timingSafeEqual(derived, hash) && known !== undefined;
  }

  async #bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < MAX_RUNNING) this.#running += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The place is handed on: whoever comes in between must not take it too.
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING) {
      throw new MeshError("resource_exhausted", "too many log-ins at once; try again in a moment", {
        details: { retry_after_seconds: 5 },
      });
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Throws when a password is too short or too long. */
export function requirePassword(password: string): void {
  const { length } = password;
  if (length >= PASSWORD_CHARS.min && length <= PASSWORD_CHARS.max) return;
  throw new MeshError(
    "invalid_argument",
    `a password has ${PASSWORD_CHARS.min} to ${PASSWORD_CHARS.max} characters; this one has ${length}`,
  );
}

function derive(password: string, salt: Buffer, { ln, r, p }: PasswordCost): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    // The same letters typed on another keyboard may arrive composed otherwise.
    scrypt(password.normalize("NFKC"), salt, HASH_BYTES, { N, r, p, maxmem: 129 * N * r + 1024 * 1024 }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

interface StoredHash {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function parse(stored: string): StoredHash | undefined {
  const match = /^scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]+)\$([\w-]+)$/.exec(stored);
  if (match === null) return undefined;
  const [ln = 0, r = 0, p = 0] = match.slice(1, 4).map(Number);
  const hash = Buffer.from(match[5] ?? "", "base64url");
  if (ln > MAX_LN || r < 1 || p < 1 || hash.length !== HASH_BYTES) return undefined;
  return { cost: { ln, r, p }, salt: Buffer.from(match[4] ?? "", "base64url"), hash };
}
