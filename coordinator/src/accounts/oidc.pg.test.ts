/** OpenID Connect against a real provider in this process: discovery, PKCE, signed tokens and user information on the wire. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { Provider } from "oidc-provider";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import { type RunningGateway, startGateway } from "../gateway/testing/running-gateway.ts";
import { scriptedApi } from "../gateway/testing/scripted-api.ts";
import { OidcLogin, type OidcOptions } from "./oidc.ts";

const PEOPLE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ann: { email: "ann@example.org", email_verified: true, preferred_username: "ann", name: "Ann A.", groups: ["root"] },
  bob: { email: "bob@example.org", email_verified: true, preferred_username: "admin", groups: [] },
  eve: { email: "eve@evil.example", email_verified: true, preferred_username: "eve" },
};
let server: Server;
let issuer: string;
let tenant: Tenant;
let gateway: RunningGateway;

beforeAll(async () => {
  server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

beforeEach(async () => {
  tenant = await startTenant();
});

afterEach(async () => {
  await gateway.stop();
  await tenant[Symbol.asyncDispose]();
});

/** The provider, whose people log in by saying who they are; and a gateway that trusts it. */
async function start(options: Partial<OidcOptions> = {}): Promise<OidcLogin> {
  let url = "";
  const { store, ids, secretBox } = tenant;
  const oidc = new OidcLogin(
    { store, ids, secretBox, clock: systemClock, log: silentLogger, publicUrl: () => url },
    {
      issuer,
      clientId: "yao",
      clientSecret: "client secret",
      allow: ["example.org"],
      groupAdmin: undefined,
      ...options,
    },
  );
  gateway = await startGateway({ api: scriptedApi().api, config: {}, oidc });
  url = gateway.url;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "yao", client_secret: "client secret", redirect_uris: [`${url}/v1/oidc/callback`] }],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "preferred_username", "groups"] },
    cookies: { keys: ["test"] },
    findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, ...PEOPLE[id] }) }),
  });
  server.removeAllListeners("request");
  server.on("request", provider.callback() as never);
  return oidc;
}

/** A browser: cookies by host, redirects one by one. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async get(url: string, init: { method?: string; body?: URLSearchParams } = {}): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { ...init, redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (/Max-Age=0|01 Jan 1970/.test(line)) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  }

  cookie(host: string, name: string): string | undefined {
    return this.#cookies.get(host)?.get(name);
  }

  /** Follows redirects; at the provider's forms this person logs in and agrees. Ends before `until`, or at a page. */
  async follow(url: string, person: string, until = "never"): Promise<string> {
    let next = url;
    for (let n = 0; n < 20; n += 1) {
      if (next.includes(until)) return next;
      let response = await this.get(next);
      if (response.status === 200 && next.includes("/interaction/")) {
        const page = await response.text();
        const action = /action="([^"]+)"/.exec(page)?.[1] ?? "";
        const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? "";
        const body = new URLSearchParams({ prompt, login: person, password: "any" });
        response = await this.get(action, { method: "POST", body });
      }
      const location = response.headers.get("location");
      await response.body?.cancel();
      if (location === null) return next;
      next = new URL(location, next).href;
    }
    throw new Error(`too many redirects: ${next}`);
  }
}

const host = (): string => new URL(gateway.url).host;
const logIn = async (browser: Browser, person: string): Promise<string> =>
  browser.follow(`${gateway.url}/v1/oidc/start`, person);

test("who is allowed gets an account and a session, and the same account the next time", async () => {
  await start();
  const browser = new Browser();
  await logIn(browser, "ann");
  const session = browser.cookie(host(), "yao_session") ?? "";
  const caller = await tenant.authenticator.authenticate(session);
  expect(caller).toMatchObject({ userName: "ann", isAdmin: false });
  expect(browser.cookie(host(), "yao_oidc")).toBeUndefined();
  const again = new Browser();
  await logIn(again, "ann");
  const second = await tenant.authenticator.authenticate(again.cookie(host(), "yao_session") ?? "");
  expect([second.userId, second.tokenId === caller.tokenId]).toEqual([caller.userId, false]);
  const [row] = await tenant.store.sql`SELECT display_name, password FROM users WHERE name = 'ann'`;
  expect(row).toEqual({ display_name: "Ann A.", password: null });
});

test("Q2: who calls himself admin at the provider does not become the admin here", async () => {
  await start();
  const browser = new Browser();
  await logIn(browser, "bob");
  const caller = await tenant.authenticator.authenticate(browser.cookie(host(), "yao_session") ?? "");
  expect(caller).toMatchObject({ userName: "admin-2", isAdmin: false });
  expect(caller.userId).not.toBe(tenant.admin.userId);
});

test("Q3: who is not allowed comes to the log-in page with the reason, and leaves no account", async () => {
  await start();
  const browser = new Browser();
  expect(await logIn(browser, "eve")).toBe(`${gateway.url}/#/login?error=permission_denied`);
  expect(browser.cookie(host(), "yao_session")).toBeUndefined();
  expect(await tenant.store.sql`SELECT 1 FROM users WHERE name = 'eve'`).toHaveLength(0);
  const [row] = await tenant.store.sql`SELECT action FROM audit ORDER BY id DESC LIMIT 1`;
  expect(row).toEqual({ action: "login.failed" });
});

test("Q3: nobody unknown comes in when nobody is allowed", async () => {
  await start({ allow: [] });
  const browser = new Browser();
  expect(await logIn(browser, "ann")).toBe(`${gateway.url}/#/login?error=permission_denied`);
});

test("the group of administrators makes and unmakes them; who was disabled stays out", async () => {
  await start({ groupAdmin: "root" });
  const browser = new Browser();
  await logIn(browser, "ann");
  const caller = await tenant.authenticator.authenticate(browser.cookie(host(), "yao_session") ?? "");
  expect(caller.isAdmin).toBe(true);
  await tenant.store.sql`UPDATE users SET is_admin = true WHERE name <> 'admin'`;
  const other = new Browser();
  await logIn(other, "bob");
  expect((await tenant.authenticator.authenticate(other.cookie(host(), "yao_session") ?? "")).isAdmin).toBe(false);
  await tenant.store.sql`UPDATE users SET disabled_at = now() WHERE name = 'ann'`;
  expect(await logIn(new Browser(), "ann")).toBe(`${gateway.url}/#/login?error=permission_denied`);
});

test("Q1: an answer for a log-in that another browser began, or a second time, opens nothing", async () => {
  const oidc = await start();
  const victim = new Browser();
  const attacker = new Browser();
  const answer = await attacker.follow(`${gateway.url}/v1/oidc/start`, "ann", "/v1/oidc/callback");
  expect(answer).toContain("code=");
  expect((await victim.get(answer)).headers.get("location")).toBe("/#/login?error=unauthenticated");
  await victim.follow(`${gateway.url}/v1/oidc/start`, "bob", "/v1/oidc/callback");
  expect((await victim.get(answer)).headers.get("location")).toBe("/#/login?error=unauthenticated");
  expect(victim.cookie(host(), "yao_session")).toBeUndefined();
  const old = tenant.secretBox.seal(JSON.stringify({ state: "s", nonce: "n", verifier: "v", atMs: 0 }), "oidc log-in");
  const client = { address: "", userAgent: "" };
  const late = oidc.finish("code=c&state=s", old.toString("base64url"), client);
  expect(await refusal(late)).toMatchObject({
    code: "unauthenticated",
    message: expect.stringContaining("too long ago"),
  });
});

test("a provider that does not answer leads back to the log-in page, and is tried again the next time", async () => {
  await start();
  const handlers = server.listeners("request") as ((...args: unknown[]) => void)[];
  server.removeAllListeners("request");
  server.on("request", (_request, response) => response.writeHead(500).end());
  const browser = new Browser();
  expect(await logIn(browser, "ann")).toBe(`${gateway.url}/#/login?error=unavailable`);
  server.removeAllListeners("request");
  for (const handler of handlers) server.on("request", handler);
  await logIn(browser, "ann");
  expect(browser.cookie(host(), "yao_session")).toMatch(/^yaos_/);
});
