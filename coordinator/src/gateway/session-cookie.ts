/**
 * The session as a cookie: how log-ins answer over HTTP.
 *
 * C1  The session's text goes into a cookie that no script can read, and stays out of the body.
 * C2  The cookie lives as long as a session may at most; when it ends for not being used is the server's to say.
 */

import { isObject } from "@mesh/kernel";
import type { FastifyReply } from "fastify";

import { MAX_DAYS, SESSION_COOKIE } from "../auth/session.ts";
import type { Operation } from "./operations.ts";

/** What a log-in's or log-out's answer becomes; undefined for all other operations. */
export type Finish = (response: unknown, reply: FastifyReply) => unknown;

/** Gives {@link Finish} by operation; `isSecure` is whether people come over TLS. */
export function sessionCookies(isSecure: () => boolean): (operation: Operation) => Finish | undefined {
  const opened: Finish = (response, reply) => {
    if (!isObject(response) || typeof response["token"] !== "string") return response;
    if (response["token"] !== "") void reply.header("set-cookie", sessionCookie(response["token"], isSecure()));
    return { ...response, token: "" };
  };
  const closed: Finish = (response, reply) => {
    void reply.header("set-cookie", `${SESSION_COOKIE}=; ${attributes(0, isSecure())}`);
    return response;
  };
  return ({ service, method }) => {
    if (service !== "accounts") return undefined;
    return method === "logIn" || method === "acceptInvitation" ? opened : method === "logOut" ? closed : undefined;
  };
}

/** The value of Set-Cookie that logs a browser in. */
export function sessionCookie(text: string, isSecure: boolean): string {
  return `${SESSION_COOKIE}=${text}; ${attributes(MAX_DAYS * 86_400, isSecure)}`;
}

function attributes(maxAgeSeconds: number, isSecure: boolean): string {
  return `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}
