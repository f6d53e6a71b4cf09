/**
 * `/v1/oidc/start` and `/v1/oidc/callback`: a browser's way to an OpenID Connect provider and back.
 *
 * Both answer with redirects, since it is a person who comes: a failure leads to the log-in page with its reason.
 */

import { MeshError } from "@mesh/kernel";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { OidcLogin } from "../accounts/oidc.ts";
import type { Admission } from "./admission.ts";
import { type BrowserPolicy, cookieValue } from "./browser.ts";
import { admitted } from "./http-server.ts";
import { sessionCookie } from "./session-cookie.ts";

/** What the routes use. */
export interface OidcRouteDeps {
  readonly admission: Admission;
  readonly policy: BrowserPolicy;
  readonly oidc: Pick<OidcLogin, "start" | "finish">;
  readonly isSecure: () => boolean;
}

const COOKIE = "yao_oidc";
const MAX_AGE_S = 600;

/** Adds the routes. */
export function addOidcRoutes(app: FastifyInstance, deps: OidcRouteDeps): void {
  const enter = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    deps.policy.requireOwnHost(request.headers.host);
    await admitted(deps, { scope: "none" }, request, reply);
  };
  app.get("/v1/oidc/start", { onRequest: enter }, (_request, reply) =>
    orLogin(reply, async () => {
      const { url, sealed } = await deps.oidc.start();
      return reply.header("set-cookie", cookie(sealed, MAX_AGE_S, deps.isSecure())).redirect(url);
    }),
  );
  app.get("/v1/oidc/callback", { onRequest: enter }, (request, reply) =>
    orLogin(reply, async () => {
      void reply.header("set-cookie", cookie("", 0, deps.isSecure()));
      const [, query = ""] = request.url.split("?", 2);
      const client = { address: request.ip, userAgent: (request.headers["user-agent"] ?? "").slice(0, 300) };
      const session = await deps.oidc.finish(query, cookieValue(request.headers.cookie, COOKIE), client);
      return reply.header("set-cookie", sessionCookie(session, deps.isSecure())).redirect("/");
    }),
  );
}

async function orLogin(reply: FastifyReply, work: () => Promise<FastifyReply>): Promise<FastifyReply> {
  try {
    return await work();
  } catch (thrown) {
    const { code } = MeshError.from(thrown);
    // What went wrong inside is for the log, not for an address.
    if (code === "internal" || code === "unknown") throw thrown;
    return reply.redirect(`/#/login?error=${code}`);
  }
}

function cookie(value: string, maxAgeSeconds: number, isSecure: boolean): string {
  const secure = isSecure ? "; Secure" : "";
  return `${COOKIE}=${value}; Path=/v1/oidc; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}
