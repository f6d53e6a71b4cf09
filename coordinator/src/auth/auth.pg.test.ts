import { systemIds, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { openStore } from "@mesh/store";
import { testDatabase } from "@mesh/store/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { CACHE_MS, TokenAuthenticator } from "./authenticator.ts";
import { bootstrap, issueAdminToken } from "./bootstrap.ts";
import type { Caller } from "./caller.ts";
import { refusal, startTenant, type Tenant } from "./testing/tenant.ts";

let tenant: Tenant;
let team: string;
let ada: Caller;
let viewer: Caller;

beforeAll(async () => {
  tenant = await startTenant();
  const made = await tenant.workspaces.createWorkspace({ name: "team" }, tenant.as(tenant.admin));
  team = made.workspace?.id ?? "";
  ada = await tenant.user("ada", ["runs", "apps", "connectors", "tokens", "workspaces"], {
    workspace: "team",
    role: "owner",
  });
  viewer = await tenant.user("vic", ["runs", "apps", "connectors", "workspaces"], {
    workspace: "team",
    role: "viewer",
  });
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

describe("the first start", () => {
  test("makes the admin, the default workspace and one token, once, however many replicas start", async () => {
    const database = await testDatabase();
    const store = openStore({ url: database.url, maxConnections: 6 });
    try {
      const results = await Promise.all(Array.from({ length: 5 }, () => bootstrap(store, systemIds())));
      const [token, ...others] = results.flatMap(({ adminToken }) => adminToken ?? []);
      expect(others).toEqual([]);
      expect(token).toMatch(/^yao_[A-Za-z0-9_-]{49}$/);
      const [stored] = await store.sql`SELECT hash, scopes FROM tokens`;
      expect(JSON.stringify(stored)).not.toContain(token);
      expect((await store.sql`SELECT name, is_default FROM workspaces`)[0]).toEqual({
        name: "default",
        is_default: true,
      });
      expect((await bootstrap(store, systemIds())).adminToken).toBeUndefined();
      const authenticator = new TokenAuthenticator({ store, clock: new FakeClock() });
      const further = await issueAdminToken(store, systemIds());
      expect(await authenticator.authenticate(further)).toMatchObject({ userName: "admin", isAdmin: true });
    } finally {
      await store.close();
      await database.drop();
    }
  });
});

describe("authentication", () => {
  test("unknown, malformed and expired tokens are refused alike", async () => {
    const { authenticator } = tenant;
    for (const text of ["", "yao_", "x".repeat(500), `yao_${"A".repeat(43)}`]) {
      expect(await refusal(authenticator.authenticate(text))).toMatchObject({ code: "unauthenticated" });
    }
    const request = {
      name: "short",
      user: "",
      scopes: [],
      workspace_ids: [],
      ttl_seconds: 3600,
      assistants: [],
      rate_per_minute: 0,
    };
    const { secret, token } = await tenant.tokens.createToken(request, tenant.as(ada));
    await authenticator.authenticate(secret);
    await tenant.store.sql`UPDATE tokens SET expires_at = now() - interval '1 second' WHERE id = ${token?.id ?? ""}`;
    authenticator.forget(token?.id ?? "");
    expect(await refusal(authenticator.authenticate(secret))).toMatchObject({ code: "unauthenticated" });
  });

  test("a revoked token stops at once on the replica that revoked it, within the cache time on others", async () => {
    const clock = new FakeClock();
    const other = new TokenAuthenticator({ store: tenant.store, clock });
    const request = {
      name: "gone",
      user: "",
      scopes: [],
      workspace_ids: [],
      ttl_seconds: 0,
      assistants: [],
      rate_per_minute: 0,
    };
    const { secret, token } = await tenant.tokens.createToken(request, tenant.as(ada));
    await tenant.authenticator.authenticate(secret);
    await other.authenticate(secret);
    await tenant.tokens.revokeToken({ token: token?.id ?? "" }, tenant.as(ada));
    expect(await refusal(tenant.authenticator.authenticate(secret))).toMatchObject({ code: "unauthenticated" });
    await other.authenticate(secret);
    await clock.advance(CACHE_MS);
    expect(await refusal(other.authenticate(secret))).toMatchObject({ code: "unauthenticated" });
  });

  test("the last use of a token is noted", async () => {
    const request = {
      name: "used",
      user: "",
      scopes: [],
      workspace_ids: [],
      ttl_seconds: 0,
      assistants: [],
      rate_per_minute: 0,
    };
    const { secret } = await tenant.tokens.createToken(request, tenant.as(ada));
    await tenant.authenticator.authenticate(secret);
    const used = await until(async () =>
      (await tenant.tokens.listTokens({}, tenant.as(ada))).tokens.find(
        ({ name, last_used_at }) => name === "used" && last_used_at !== undefined,
      ),
    );
    expect(used.last_used_at).toMatch(/^\d{4}-/);
  });
});

describe("tokens give no more than they hold", () => {
  const wanted = {
    name: "t",
    user: "",
    scopes: [] as string[],
    workspace_ids: [] as string[],
    ttl_seconds: 0,
    assistants: [],
    rate_per_minute: 0,
  };

  test("no scope that the maker lacks, and admin only for administrators", async () => {
    expect(await refusal(tenant.tokens.createToken({ ...wanted, scopes: ["nodes"] }, tenant.as(ada)))).toMatchObject({
      code: "permission_denied",
      message: expect.stringContaining('"nodes"'),
    });
    expect(await refusal(tenant.tokens.createToken({ ...wanted, scopes: ["admin"] }, tenant.as(ada)))).toMatchObject({
      code: "invalid_argument",
    });
    const forVic = { ...wanted, user: "vic", scopes: ["admin"] };
    expect(await refusal(tenant.tokens.createToken(forVic, tenant.as(tenant.admin)))).toMatchObject({
      code: "invalid_argument",
    });
    const { token } = await tenant.tokens.createToken({ ...wanted, user: "vic" }, tenant.as(tenant.admin));
    expect(token?.scopes).not.toContain("admin");
  });

  test("no token for another user, except by an administrator", async () => {
    const request = { ...wanted, user: "vic", scopes: ["runs"] };
    expect(await refusal(tenant.tokens.createToken(request, tenant.as(ada)))).toMatchObject({
      code: "permission_denied",
    });
  });

  test("a limit on workspaces and a lifetime are passed on", async () => {
    const limited = await tenant.tokens.createToken(
      { ...wanted, workspace_ids: ["team"], ttl_seconds: 600 },
      tenant.as(ada),
    );
    expect(limited.token?.workspace_ids).toEqual([team]);
    const caller = await tenant.authenticator.authenticate(limited.secret);
    const child = await tenant.tokens.createToken({ ...wanted, ttl_seconds: 86_400 }, tenant.as(caller));
    expect(child.token?.workspace_ids).toEqual([team]);
    expect(child.token?.expires_at).toBe(limited.token?.expires_at);
    expect(
      await refusal(tenant.tokens.createToken({ ...wanted, workspace_ids: ["default"] }, tenant.as(caller))),
    ).toMatchObject({ code: "not_found" });
    expect(await refusal(tenant.workspaces.createWorkspace({ name: "more" }, tenant.as(caller)))).toMatchObject({
      code: "permission_denied",
    });
  });

  test("a user sees and revokes own tokens only; an administrator all", async () => {
    const own = (await tenant.tokens.listTokens({}, tenant.as(ada))).tokens;
    expect(new Set(own.map(({ user }) => user))).toEqual(new Set(["ada"]));
    const all = (await tenant.tokens.listTokens({}, tenant.as(tenant.admin))).tokens;
    expect(new Set(all.map(({ user }) => user))).toEqual(new Set(["admin", "ada", "vic"]));
    const foreign = all.find(({ user }) => user === "admin")?.id ?? "";
    expect(await refusal(tenant.tokens.revokeToken({ token: foreign }, tenant.as(ada)))).toMatchObject({
      code: "not_found",
    });
  });

  test("the first workspaces of a new user's token are the user's first memberships", async () => {
    const request = { ...wanted, user: "new", scopes: ["runs"], workspace_ids: ["team"] };
    const { secret } = await tenant.tokens.createToken(request, tenant.as(tenant.admin));
    const caller = await tenant.authenticator.authenticate(secret);
    expect(await tenant.access.workspace(caller, "team", "write")).toEqual({ id: team, name: "team" });
  });
});

describe("access", () => {
  test("unknown and foreign workspaces cannot be told apart", async () => {
    const unknown = await refusal(tenant.access.workspace(ada, "nowhere", "read"));
    const foreign = await refusal(tenant.access.workspace(ada, "default", "read"));
    expect(foreign).toEqual({ ...unknown, message: unknown.message.replace("nowhere", "default") });
    expect(unknown.code).toBe("not_found");
    const object = { kind: "run", id: "run_x", list: "yao runs list" };
    const [defaultId] = (await tenant.store.sql<{ id: string }[]>`SELECT id FROM workspaces WHERE is_default`).map(
      ({ id }) => id,
    );
    expect(await refusal(tenant.access.object(ada, undefined, "read", object))).toEqual(
      await refusal(tenant.access.object(ada, defaultId, "read", object)),
    );
  });

  test("by id and by name; a viewer reads and does not write; an administrator does all", async () => {
    expect(await tenant.access.workspace(ada, team, "write")).toEqual(
      await tenant.access.workspace(ada, "team", "write"),
    );
    await tenant.access.workspace(viewer, "team", "read");
    expect(await refusal(tenant.access.workspace(viewer, "team", "write"))).toMatchObject({
      code: "permission_denied",
    });
    await tenant.access.workspace(tenant.admin, "team", "write");
    expect(await tenant.access.readable(viewer)).toEqual([team]);
    expect(await tenant.access.readable(tenant.admin)).toBeUndefined();
  });

  test("an administrator's limited token stays in its limits", async () => {
    const caller: Caller = { ...tenant.admin, workspaceIds: [team] };
    await tenant.access.workspace(caller, "team", "write");
    expect(await refusal(tenant.access.workspace(caller, "default", "read"))).toMatchObject({ code: "not_found" });
    expect(await tenant.access.readable(caller)).toEqual([team]);
  });

  test("every operation on a workspace refuses one that is not the caller's, and writing ones refuse a viewer", async () => {
    const { workspaces, apps, connectors } = tenant;
    const outsider = await tenant.user("otto", ["runs", "apps", "connectors", "workspaces"]);
    const workspace = "team";
    const bundle = Buffer.from("x");
    const connector = {
      connector: "c",
      type: "openai",
      label: "",
      model: "",
      host: "",
      key: undefined,
      options_json: "",
    };
    const calls: [string, "read" | "write", (caller: Caller) => Promise<unknown>][] = [
      ["getWorkspace", "read", (caller) => workspaces.getWorkspace({ workspace }, tenant.as(caller))],
      [
        "deleteWorkspace",
        "write",
        (caller) => workspaces.deleteWorkspace({ workspace, force: true }, tenant.as(caller)),
      ],
      [
        "putMember",
        "write",
        (caller) => workspaces.putMember({ workspace, user: "ada", role: "viewer" }, tenant.as(caller)),
      ],
      ["listMembers", "read", (caller) => workspaces.listMembers({ workspace }, tenant.as(caller))],
      ["removeMember", "write", (caller) => workspaces.removeMember({ workspace, user: "ada" }, tenant.as(caller))],
      [
        "pushApp",
        "write",
        (caller) => apps.pushApp({ workspace, app: "a", bundle, reset_models: false }, tenant.as(caller)),
      ],
      ["listApps", "read", (caller) => apps.listApps({ workspace }, tenant.as(caller))],
      ["getApp", "read", (caller) => apps.getApp({ workspace, app: "a" }, tenant.as(caller))],
      ["removeApp", "write", (caller) => apps.removeApp({ workspace, app: "a" }, tenant.as(caller))],
      ["listAssistants", "read", (caller) => apps.listAssistants({ workspace }, tenant.as(caller))],
      ["getAssistant", "read", (caller) => apps.getAssistant({ workspace, assistant: "a" }, tenant.as(caller))],
      ["putConnector", "write", (caller) => connectors.putConnector({ workspace, ...connector }, tenant.as(caller))],
      ["listConnectors", "read", (caller) => connectors.listConnectors({ workspace }, tenant.as(caller))],
      [
        "removeConnector",
        "write",
        (caller) => connectors.removeConnector({ workspace, connector: "c" }, tenant.as(caller)),
      ],
    ];
    for (const [name, need, call] of calls) {
      const foreign = await refusal(call(outsider));
      expect([name, foreign.code, foreign.message]).toEqual([
        name,
        "not_found",
        expect.stringContaining("workspace team was not found"),
      ]);
      if (need === "write") expect([name, (await refusal(call(viewer))).code]).toEqual([name, "permission_denied"]);
    }
  });
});
