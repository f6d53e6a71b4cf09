import { MeshError, systemClock } from "@mesh/kernel";
import type { LogInRequest } from "@mesh/proto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { TokenAuthenticator } from "../auth/authenticator.ts";
import { issueLoginCode } from "../auth/bootstrap.ts";
import { ANONYMOUS, type Caller } from "../auth/caller.ts";
import { csrfTokenOf } from "../auth/session.ts";
import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";
import { createAccountApi } from "./account-api.ts";
import { Passwords } from "./password.ts";

const PASSWORD = "correct horse battery";
const passwords = new Passwords({ ln: 10, r: 8, p: 1 });
let tenant: Tenant;
let accounts: ReturnType<typeof apiOf>;
let ada: Caller;

beforeAll(async () => {
  tenant = await startTenant();
  await tenant.workspaces.createWorkspace({ name: "team" }, tenant.as(tenant.admin));
  ada = await tenant.user("ada", [], { workspace: "team", role: "owner" });
});

beforeEach(() => {
  accounts = apiOf(tenant);
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

/** A replica's handlers, with limits of their own. */
function apiOf({ store, access, ids, authenticator }: Tenant): ReturnType<typeof createAccountApi> {
  return createAccountApi({
    store,
    access,
    ids,
    authenticator,
    clock: systemClock,
    publicUrl: () => "https://mesh.example",
    version: "1.2.3",
    passwords,
  });
}

const client = { address: "10.0.0.1", userAgent: "Firefox" };
const as = (caller: Caller): Call => ({ ...tenant.as(caller), client });
const nobody = (address = "10.0.0.1"): Call => ({ ...tenant.as(ANONYMOUS), client: { ...client, address } });
const login = (part: Partial<LogInRequest>): LogInRequest => ({ name: "", password: "", code: "", ...part });
const fragment = (url: string): string => new URL(url).hash.split("code=")[1] ?? "";

async function audited(action: string): Promise<readonly { actor: string; object: string; detail: object }[]> {
  return tenant.store.sql<{ actor: string; object: string; detail: object }[]>`
    SELECT actor, object, detail FROM audit WHERE action = ${action} ORDER BY id DESC`;
}

/** A person with a password who is logged in. */
async function person(name: string, role = "member"): Promise<{ readonly caller: Caller; readonly token: string }> {
  const { code } = await accounts.createInvitation({ workspace: "team", role, ttl_seconds: 0, uses: 0 }, as(ada));
  const request = { code, name, password: PASSWORD, display_name: "" };
  const { token } = await accounts.acceptInvitation(request, nobody(`10.1.${name.length}.1`));
  return { token, caller: await tenant.authenticator.authenticate(token) };
}

describe("one-time links", () => {
  test("the first start's link opens the administrator's session once", async () => {
    const code = (await issueLoginCode(tenant.store, tenant.ids)) ?? "";
    const answer = await accounts.logIn(login({ code }), nobody());
    expect(answer).toMatchObject({ account: { name: "admin", is_admin: true, has_password: false } });
    expect(answer.csrf_token).toBe(csrfTokenOf(answer.token));
    const caller = await tenant.authenticator.authenticate(answer.token);
    expect(caller).toMatchObject({ userName: "admin", isAdmin: true, session: { csrfToken: answer.csrf_token } });
    expect(await refusal(accounts.logIn(login({ code }), nobody()))).toMatchObject({ code: "unauthenticated" });
    const [stored] = await tenant.store.sql`SELECT hash FROM sessions WHERE id = ${caller.tokenId}`;
    expect(JSON.stringify(stored)).not.toContain(answer.token);
    expect((await audited("login"))[0]).toMatchObject({
      actor: "user:admin",
      detail: { how: "code", address: "10.0.0.1" },
    });
    expect((await audited("login.failed"))[0]).toMatchObject({ actor: "anonymous", detail: { how: "code" } });
  });

  test("two browsers that open one link at the same moment: one comes in", async () => {
    const { url } = await accounts.createLoginCode({ ttl_seconds: 0 }, as(ada));
    expect(url).toMatch(/^https:\/\/mesh\.example\/#\/login\?code=[\w-]{43}$/);
    const tries = Array.from({ length: 8 }, () => refusal(accounts.logIn(login({ code: fragment(url) }), nobody())));
    const codes = (await Promise.all(tries)).map(({ code }) => code).toSorted();
    expect(codes).toEqual(["ok", ...Array<string>(7).fill("unauthenticated")]);
  });

  test("one that has run out is worth nothing", async () => {
    const { code } = await accounts.createLoginCode({ ttl_seconds: 60 }, as(ada));
    await tenant.store.sql`UPDATE login_codes SET expires_at = now() - interval '1 second'`;
    expect(await refusal(accounts.logIn(login({ code }), nobody()))).toMatchObject({ code: "unauthenticated" });
  });

  test("a token that may do less than its user makes none", async () => {
    const narrow = await tenant.user("narrow", ["tokens"]);
    expect(await refusal(accounts.createLoginCode({ ttl_seconds: 0 }, as(narrow)))).toMatchObject({
      code: "permission_denied",
    });
    const part = { ...tenant.admin, scopes: ["tokens", "runs"] as const, isAdmin: false };
    expect((await refusal(accounts.createLoginCode({ ttl_seconds: 0 }, as(part)))).code).toBe("permission_denied");
    const limited = { ...ada, workspaceIds: ["ws_1"] };
    expect((await refusal(accounts.createLoginCode({ ttl_seconds: 0 }, as(limited)))).code).toBe("permission_denied");
  });
});

describe("name and password", () => {
  test("open a session; a wrong one, an unknown name and an account without a password are the same answer", async () => {
    await person("paul");
    const answer = await accounts.logIn(login({ name: "paul", password: PASSWORD }), nobody());
    expect(answer.account).toMatchObject({ name: "paul", is_admin: false, has_password: true });
    const refusals = await Promise.all(
      ["paul", "nobody", "admin"].map((name) =>
        refusal(accounts.logIn(login({ name, password: "wrong password" }), nobody())),
      ),
    );
    expect(refusals[0]).toMatchObject({ code: "unauthenticated" });
    expect(new Set(refusals.map((one) => JSON.stringify(one))).size).toBe(1);
    expect((await audited("login.failed")).map(({ object }) => object)).toEqual(
      expect.arrayContaining(["paul", "nobody", "admin"]),
    );
    expect(await accounts.getLoginOptions({}, nobody())).toEqual({ passwords: true, oidc_label: "", version: "1.2.3" });
  });

  test("guessing is told to wait, and nobody else with it", async () => {
    await person("gwen");
    const guess = (): Promise<void> =>
      accounts.logIn(login({ name: "gwen", password: "wrong password" }), nobody()).then(() => undefined);
    for (let n = 0; n < 5; n += 1) await expect(guess()).rejects.toThrow("do not belong together");
    const error = MeshError.from(await guess().catch((thrown: unknown) => thrown));
    expect(error).toMatchObject({ code: "resource_exhausted", details: { retry_after_seconds: expect.any(Number) } });
    await accounts.logIn(login({ name: "gwen", password: PASSWORD }), nobody("10.0.0.2"));
  });

  test("a new password needs the present one, ends the other sessions and open links, and keeps this one", async () => {
    const { caller, token } = await person("nina");
    const other = await accounts.logIn(login({ name: "nina", password: PASSWORD }), nobody());
    const { code } = await accounts.createLoginCode({ ttl_seconds: 0 }, as(caller));
    await tenant.authenticator.authenticate(other.token);
    const change = (current: string, password = "another password") =>
      refusal(accounts.changePassword({ current, password }, as(caller)));
    expect(await change("")).toMatchObject({ code: "invalid_argument" });
    expect(await change("wrong password")).toMatchObject({ code: "permission_denied" });
    expect(await change(PASSWORD, "x".repeat(201))).toMatchObject({ code: "invalid_argument" });
    expect(await change(PASSWORD)).toMatchObject({ code: "ok" });
    await tenant.authenticator.authenticate(token);
    expect((await refusal(tenant.authenticator.authenticate(other.token))).code).toBe("unauthenticated");
    expect((await refusal(accounts.logIn(login({ code }), nobody()))).code).toBe("unauthenticated");
    expect((await refusal(accounts.logIn(login({ name: "nina", password: PASSWORD }), nobody()))).code).toBe(
      "unauthenticated",
    );
    await accounts.logIn(login({ name: "nina", password: "another password" }), nobody());
    expect((await audited("password.change"))[0]).toMatchObject({ actor: "user:nina" });
    expect(JSON.stringify(await tenant.store.sql`SELECT * FROM audit`)).not.toMatch(/another password|correct horse/);
  });
});

describe("sessions", () => {
  test("are listed with the present one marked, and end one by one or at log-out", async () => {
    const { caller } = await person("sam");
    const second = await accounts.logIn(login({ name: "sam", password: PASSWORD }), nobody());
    const { sessions } = await accounts.listSessions({}, as(caller));
    expect(sessions.map(({ is_current, user_agent }) => [is_current, user_agent])).toEqual([
      [false, "Firefox"],
      [true, "Firefox"],
    ]);
    const foreign = await refusal(accounts.endSession({ session: sessions[0]?.id ?? "" }, as(ada)));
    expect(foreign.code).toBe("not_found");
    await tenant.authenticator.authenticate(second.token);
    await accounts.endSession({ session: sessions[0]?.id ?? "" }, as(caller));
    expect((await refusal(tenant.authenticator.authenticate(second.token))).code).toBe("unauthenticated");
    await accounts.logOut({}, as(caller));
    expect((await accounts.listSessions({}, as(caller))).sessions).toEqual([]);
    expect((await refusal(accounts.logOut({}, as(ada)))).code).toBe("failed_precondition");
    expect((await audited("logout"))[0]).toMatchObject({ actor: "user:sam" });
  });

  test("end 30 days after their last use and 180 days after their start, and use moves the end on", async () => {
    const { caller, token } = await person("slide");
    const days = async (): Promise<number> => {
      const [row] = await tenant.store.sql<{ days: number }[]>`
        SELECT round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM sessions WHERE id = ${caller.tokenId}`;
      return row?.days ?? 0;
    };
    const age = async (byDays: number): Promise<void> => {
      await tenant.store.sql`
        UPDATE sessions SET created_at = created_at - make_interval(days => ${byDays}),
          last_used_at = last_used_at - make_interval(days => ${byDays}),
          expires_at = expires_at - make_interval(days => ${byDays}), ends_at = ends_at - make_interval(days => ${byDays})
        WHERE id = ${caller.tokenId}`;
    };
    const fresh = (): TokenAuthenticator => new TokenAuthenticator({ store: tenant.store, clock: systemClock });
    expect(await days()).toBe(30);
    await age(20);
    expect(await days()).toBe(10);
    await fresh().authenticate(token);
    expect(await days()).toBe(30);
    for (let n = 0; n < 7; n += 1) {
      await age(20);
      await fresh().authenticate(token);
    }
    expect(await days()).toBe(20);
    await age(20);
    expect((await refusal(fresh().authenticate(token))).code).toBe("unauthenticated");
  });
});

describe("the account", () => {
  test("keeps what its person prefers, within bounds", async () => {
    const { caller } = await person("pia");
    const change = (part: object) => accounts.updateAccount(part, as(caller));
    await change({ display_name: " Pia P. ", locale: "zh-CN", theme: "dark" });
    const preferences = JSON.stringify({ shortcuts: { send: "Enter" } });
    const { account } = await change({ preferences_json: preferences });
    expect(account).toMatchObject({
      display_name: "Pia P.",
      locale: "zh-cn",
      theme: "dark",
      preferences_json: preferences,
    });
    expect((await accounts.getAccount({}, as(caller))).csrf_token).toBe(caller.session?.csrfToken);
    for (const bad of [{ locale: "english, please" }, { preferences_json: "[1]" }, { preferences_json: "{" }]) {
      expect([bad, (await refusal(change(bad))).code]).toEqual([bad, "invalid_argument"]);
    }
    const wide = JSON.stringify({ text: "字".repeat(6_000) });
    expect(await refusal(change({ preferences_json: wide }))).toMatchObject({
      message: expect.stringContaining("16 KB"),
    });
  });
});

describe("invitations", () => {
  const invite = (part: object = {}, caller = ada) =>
    accounts.createInvitation({ workspace: "team", role: "", ttl_seconds: 0, uses: 0, ...part }, as(caller));
  const accept = (code: string, name: string, call = nobody()) =>
    accounts.acceptInvitation({ code, name, password: name === "" ? "" : PASSWORD, display_name: "" }, call);

  test("make an account with the role they name, as often as they say", async () => {
    const { code, url, invitation } = await invite({ role: "viewer", uses: 2 });
    expect(url).toBe(`https://mesh.example/#/join?code=${code}`);
    expect(invitation).toMatchObject({ workspace: "team", role: "viewer", uses_left: 2, created_by: "ada" });
    expect((await accounts.getInvitation({ code }, nobody())).invitation).toMatchObject({ workspace: "team" });
    const joined = await accept(code, "ivy");
    const caller = await tenant.authenticator.authenticate(joined.token);
    expect((await refusal(tenant.access.workspace(caller, "team", "write"))).code).toBe("permission_denied");
    await tenant.access.workspace(caller, "team", "read");
    expect((await refusal(accept(code, "ivy"))).code).toBe("already_exists");
    await accept(code, "ian");
    expect((await refusal(accept(code, "ike"))).code).toBe("not_found");
    expect((await refusal(accounts.getInvitation({ code }, nobody()))).code).toBe("not_found");
    expect(await tenant.store.sql`SELECT 1 FROM users WHERE name = 'ike'`).toHaveLength(0);
  });

  test("let in whoever is logged in, under the own name, and change no role that is there", async () => {
    const { caller } = await person("joe", "viewer");
    await tenant.workspaces.createWorkspace({ name: "second" }, tenant.as(ada));
    const second = await invite({ workspace: "second", uses: 5 });
    const answer = await accept(second.code, "", as(caller));
    expect(answer).toMatchObject({ account: { name: "joe" }, token: "", csrf_token: caller.session?.csrfToken });
    await tenant.access.workspace(caller, "second", "write");
    await accept(second.code, "", as(caller));
    const [open] = (await accounts.listInvitations({ workspace: "second" }, as(ada))).invitations;
    expect(open?.uses_left).toBe(4);
    const first = await invite({ role: "owner" });
    await accept(first.code, "", as(caller));
    const { members } = await tenant.workspaces.listMembers({ workspace: "team" }, tenant.as(ada));
    expect(members).toContainEqual({ user: "joe", role: "viewer" });
  });

  test("are made by owners only, bounded, revoked at will", async () => {
    const { caller } = await person("mia");
    expect((await refusal(invite({}, caller))).code).toBe("permission_denied");
    const { code, invitation } = await invite();
    await accounts.revokeInvitation({ workspace: "team", invitation: invitation?.id ?? "" }, as(ada));
    expect((await refusal(accept(code, "max"))).code).toBe("not_found");
    for (const [name, password] of [
      ["", PASSWORD],
      ["a b", PASSWORD],
      ["ok", "short"],
    ] as const) {
      const fresh = await invite();
      const request = { code: fresh.code, name, password, display_name: "" };
      expect((await refusal(accounts.acceptInvitation(request, nobody()))).code).toBe("invalid_argument");
    }
    expect((await refusal(accept("made-up", "eve"))).code).toBe("not_found");
  });

  test("for one use is used by one of many at the same moment", async () => {
    const { code } = await invite();
    const results = await Promise.all(["r1", "r2", "r3", "r4"].map((name) => refusal(accept(code, name))));
    expect(results.filter(({ code: one }) => one === "ok")).toHaveLength(1);
    expect(await tenant.store.sql`SELECT 1 FROM users WHERE name IN ('r1', 'r2', 'r3', 'r4')`).toHaveLength(1);
  });
});

describe("people, for administrators", () => {
  const update = (user: string, part: object, caller = tenant.admin) =>
    accounts.updateUser({ user, ...part }, as(caller));

  test("who is disabled is out at once: sessions, tokens and links; tokens come back, sessions do not", async () => {
    const { caller, token } = await person("dan");
    const wanted = {
      name: "t",
      user: "",
      scopes: [],
      workspace_ids: [],
      assistants: [],
      ttl_seconds: 0,
      rate_per_minute: 0,
    };
    const { secret } = await tenant.tokens.createToken(wanted, tenant.as(caller));
    const { code } = await accounts.createLoginCode({ ttl_seconds: 0 }, as(caller));
    await tenant.authenticator.authenticate(secret);
    expect((await update("dan", { disabled: true })).user).toMatchObject({ name: "dan", disabled: true });
    for (const text of [token, secret]) {
      expect((await refusal(tenant.authenticator.authenticate(text))).code).toBe("unauthenticated");
    }
    expect((await refusal(accounts.logIn(login({ code }), nobody()))).code).toBe("unauthenticated");
    const again = await refusal(accounts.logIn(login({ name: "dan", password: PASSWORD }), nobody()));
    expect(again.code).toBe("unauthenticated");
    await update("dan", { disabled: false });
    await tenant.authenticator.authenticate(secret);
    expect((await refusal(tenant.authenticator.authenticate(token))).code).toBe("unauthenticated");
    expect((await audited("user.update"))[0]).toMatchObject({ detail: { user: "dan", disabled: false } });
  });

  test("an administrator is left, even when two go at once", async () => {
    expect(await refusal(update("admin", { disabled: true }))).toMatchObject({ code: "failed_precondition" });
    expect(await refusal(update("admin", { is_admin: false }))).toMatchObject({ code: "failed_precondition" });
    await person("root");
    await update("root", { is_admin: true });
    const results = await Promise.all([
      refusal(update("admin", { is_admin: false })),
      refusal(update("root", { is_admin: false })),
    ]);
    expect(results.map(({ code }) => code).toSorted()).toEqual(["failed_precondition", "ok"]);
    await tenant.store.sql`UPDATE users SET is_admin = name = 'admin'`;
  });

  test("who is no administrator any more is none with the token of before", async () => {
    await person("exa");
    await update("exa", { is_admin: true });
    const limits = { workspace_ids: [], assistants: [], ttl_seconds: 0, rate_per_minute: 0 };
    const wanted = { name: "t", user: "exa", scopes: ["admin"], ...limits };
    const { secret } = await tenant.tokens.createToken(wanted, tenant.as(tenant.admin));
    expect(await tenant.authenticator.authenticate(secret)).toMatchObject({ isAdmin: true, scopes: ["admin"] });
    await update("exa", { is_admin: false });
    const caller = await tenant.authenticator.authenticate(secret);
    expect([caller.isAdmin, caller.scopes.includes("admin")]).toEqual([false, false]);
    expect(caller.scopes).toContain("runs");
  });

  test("others are refused, and nobody sees another's preferences", async () => {
    expect((await refusal(accounts.listUsers({}, as(ada)))).code).toBe("permission_denied");
    expect((await refusal(update("ada", { disabled: true }, ada))).code).toBe("permission_denied");
    expect((await refusal(update("nobody", {}))).code).toBe("not_found");
    await accounts.updateAccount({ preferences_json: '{"a":1}' }, as(ada));
    const { users } = await accounts.listUsers({}, as(tenant.admin));
    expect(users.find(({ name }) => name === "ada")).toMatchObject({ disabled: false, preferences_json: "" });
    expect(JSON.stringify(users)).not.toContain("scrypt");
  });
});
