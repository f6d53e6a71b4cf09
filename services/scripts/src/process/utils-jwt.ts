/** `utils.jwt.*`: signed tokens (HS256 only, so that a token cannot choose its own algorithm). */

import { createHmac, timingSafeEqual } from "node:crypto";

import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import type { Scope } from "./process-caller.ts";
import type { ProcessFunction } from "./process-group.ts";

const DEFAULT_LIFE_S = 3600;
const MAX_LIFE_S = 365 * 24 * 3600;
const HEADER = encode({ alg: "HS256", typ: "JWT" });

/** What signing needs. */
export interface JwtDeps {
  readonly clock: Pick<Clock, "now">;
  /** Key of a workspace, used when the caller names none. */
  readonly secret?: ((scope: Scope) => string | undefined) | undefined;
}

/** Functions of `utils.jwt`. */
export function jwtFunctions(deps: JwtDeps): Readonly<Record<string, ProcessFunction>> {
  return {
    "jwt.Make": (args, { scope }) => make(args, secretOf(args, 3, deps.secret?.(scope)), nowS(deps.clock)),
    "jwt.Verify": (args, { scope }) => verify(args, secretOf(args, 1, deps.secret?.(scope)), nowS(deps.clock)),
  };
}

/** Make(id, data, {timeout, subject, audience, issuer, sid}, secret?) → {token, expires_at}. */
function make(args: ProcessArgs, secret: string, now: number): Json {
  const option = args.object(2, "options", {});
  const timeout = option["timeout"] ?? DEFAULT_LIFE_S;
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= MAX_LIFE_S)) {
    args.refuse(`options.timeout must be seconds from 1 to ${MAX_LIFE_S}`);
  }
  const expires = now + Math.ceil(timeout);
  const claims = {
    id: args.json(0),
    sid: option["sid"] ?? "",
    data: args.object(1, "data", {}),
    sub: option["subject"] ?? "",
    aud: option["audience"] ?? "",
    iss: option["issuer"] ?? "",
    jti: args.text(0, "id"),
    iat: now,
    exp: expires,
  };
  const body = `${HEADER}.${encode(claims)}`;
  return { token: `${body}.${sign(body, secret)}`, expires_at: expires };
}

function verify(args: ProcessArgs, secret: string, now: number): Json {
  const [header = "", payload = "", signature = "", ...more] = args.text(0, "token").split(".");
  const expected = Buffer.from(sign(`${header}.${payload}`, secret));
  const given = Buffer.from(signature);
  const isSigned = more.length === 0 && given.length === expected.length && timingSafeEqual(given, expected);
  const claims = isSigned && decode(header)?.["alg"] === "HS256" ? decode(payload) : undefined;
  if (claims === undefined) throw denied("the token is not valid; it was changed or signed with another secret");
  const expires = claims["exp"];
  if (typeof expires !== "number" || expires <= now) throw denied("the token has expired; make a new one");
  return claims;
}

function denied(message: string): MeshError {
  return new MeshError("permission_denied", message, { details: { exception_code: 403 } });
}

function secretOf(args: ProcessArgs, index: number, fallback: string | undefined): string {
  const secret = args.text(index, "secret", fallback ?? "");
  return secret === ""
    ? args.refuse(`argument ${index + 1} (secret) is needed: this workspace has no signing secret`)
    : secret;
}

function sign(body: string, secret: string): string {
  return createHmac("sha256", secret).update(body).digest("base64url");
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

function decode(part: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return isObject(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

function nowS(clock: Pick<Clock, "now">): number {
  return Math.floor(clock.now() / 1000);
}
