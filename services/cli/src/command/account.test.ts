/** Commands about people: in this process, against a coordinator at the wire. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";

import { systemClock, systemIds } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { readCliOptions } from "../config.ts";
import { runProgram } from "../program.ts";
import { openTerminal } from "../terminal/terminal.ts";
import { StubGateway } from "../testing/stub-gateway.ts";

const SESSION = `yaos_${"A".repeat(43)}`;
const REFUSED = {
  status: 401,
  json: { type: "urn:yao:error:unauthenticated", title: "no", status: 401, detail: "no", code: "unauthenticated" },
};
let gateway: StubGateway;
let home: string;

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
  gateway.route("GET", "/v1/whoami", () => ({
    json: { user: "ana", token_id: "sess_1", scopes: ["runs"], workspace_ids: [], is_admin: false },
  }));
});
afterEach(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `yao ARGS`; what is typed comes through a pipe. */
async function yao(
  args: readonly string[],
  given: { readonly input?: string; readonly env?: Record<string, string>; readonly token?: string } = {},
): Promise<Ended> {
  const texts = { out: "", err: "" };
  const sink = (name: "out" | "err"): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        texts[name] += chunk.toString();
        done();
      },
    });
  const stdin = Object.assign(Readable.from([given.input ?? ""]), { isTTY: false });
  const token = given.token === undefined ? {} : { YAO_TOKEN: given.token, YAO_URL: gateway.url };
  const code = await runProgram(
    {
      terminal: openTerminal({ stdin: stdin as never, stdout: sink("out"), stderr: sink("err") }, {}),
      interrupts: { listen: () => () => undefined },
      clock: systemClock,
      ids: systemIds(),
      options: readCliOptions({ YAO_HOME: home, ...token }),
      env: given.env ?? {},
      self: { execPath: "", execArgv: [], script: "", tellParent: undefined },
    },
    args,
  );
  return { code, ...texts };
}

const admin = { token: "yao_admin" };
const bodyOf = (method: string, path: string): unknown =>
  JSON.parse(gateway.requests(method, path).at(-1)?.body ?? "null");

describe("yao login with a name", () => {
  const login = (): readonly string[] => ["login", gateway.url, "--user", "ana", "--password-file", "-"];

  test("keeps the session as the token, and the password nowhere", async () => {
    gateway.route("POST", "/v1/login", () => ({
      json: { account: { name: "ana" }, csrf_token: "c", token: "", expires_at: "" },
      headers: { "set-cookie": `yao_session=${SESSION}; Path=/; HttpOnly` },
    }));
    const ended = await yao(login(), { input: "correct horse battery\n" });
    expect(ended).toEqual({ code: 0, out: `logged in at ${gateway.url} as ana\n`, err: "" });
    expect(bodyOf("POST", "/v1/login")).toEqual({ name: "ana", password: "correct horse battery" });
    expect(gateway.requests("GET", "/v1/whoami")[0]?.headers["authorization"]).toBe(`Bearer ${SESSION}`);
    const stored = readFileSync(join(home, "cli.json"), "utf8");
    expect(JSON.parse(stored)).toEqual({ url: gateway.url, token: SESSION });
  });

  test("says that name and password are wrong, and keeps what was there", async () => {
    writeFileSync(join(home, "cli.json"), JSON.stringify({ url: gateway.url, token: "yao_before" }));
    gateway.route("POST", "/v1/login", () => REFUSED);
    const ended = await yao(login(), { input: "wrong password" });
    expect(ended).toMatchObject({
      code: 1,
      err: expect.stringContaining("this name and password do not belong together"),
    });
    expect(readFileSync(join(home, "cli.json"), "utf8")).toContain("yao_before");
  });

  test("is refused together with a token, and when what answers gives no session", async () => {
    expect((await yao([...login(), "--token", "t"])).code).toBe(2);
    expect((await yao(["login", gateway.url, "--password-file", "-"])).code).toBe(2);
    gateway.route("POST", "/v1/login", () => ({ json: {} }));
    expect((await yao(login(), { input: "x" })).err).toContain("gave no session");
  });
});

describe("yao logout", () => {
  const stored = (token: string): void =>
    writeFileSync(join(home, "cli.json"), JSON.stringify({ url: gateway.url, token }));

  test("ends a session at the coordinator, and leaves a token as it is", async () => {
    gateway.route("POST", "/v1/logout", () => ({ json: {} }));
    stored(SESSION);
    expect(await yao(["logout"])).toEqual({ code: 0, out: `logged out of ${gateway.url}\n`, err: "" });
    expect(gateway.requests("POST", "/v1/logout")).toHaveLength(1);
    stored("yao_token");
    expect((await yao(["logout"])).code).toBe(0);
    expect(gateway.requests("POST", "/v1/logout")).toHaveLength(1);
  });

  test("forgets here what it cannot end there, and says so", async () => {
    gateway.route("POST", "/v1/logout", () => ({
      status: 503,
      json: { status: 503, code: "unavailable", detail: "no" },
    }));
    stored(SESSION);
    const ended = await yao(["logout"]);
    expect(ended).toMatchObject({ code: 0, err: expect.stringContaining("the session was not ended") });
    expect((await yao(["logout"])).out).toBe("was not logged in\n");
  });
});

describe.each(["web", "open"])("yao %s", (name) => {
  test("prints a link at the address this device uses, whatever the coordinator calls itself", async () => {
    gateway.route("POST", "/v1/login-codes", () => ({
      status: 201,
      json: { code: "abc", url: "https://inside.example/#/login?code=abc", expires_at: "2026-01-01T00:00:00.000Z" },
    }));
    expect(await yao([name], admin)).toEqual({ code: 0, out: `Open  ${gateway.url}/#/login?code=abc\n`, err: "" });
    expect(bodyOf("POST", "/v1/login-codes")).toEqual({ ttl_seconds: 0 });
    const json = await yao([name, "--json", "--ttl", "1h"], admin);
    expect(JSON.parse(json.out)).toMatchObject({ code: "abc", url: `${gateway.url}/#/login?code=abc` });
    expect(bodyOf("POST", "/v1/login-codes")).toEqual({ ttl_seconds: 3600 });
  });
});

describe("yao workspace", () => {
  const settings = { default_assistant: "hello", node_ids: ["node_1"], max_active_runs: 2 };

  test("set changes what is named and keeps the rest", async () => {
    const workspace = { id: "ws_1", name: "team", created_at: "", is_default: false, settings, role: "owner" };
    gateway.route("GET", "/v1/workspaces/team", () => ({ json: { workspace } }));
    gateway.route("PATCH", "/v1/workspaces/team", ({ body }) => ({
      json: { workspace: { ...workspace, ...(JSON.parse(body) as object) } },
    }));
    const ended = await yao(["workspace", "set", "team", "--max-active-runs", "5", "--all-nodes"], admin);
    expect(bodyOf("PATCH", "/v1/workspaces/team")).toEqual({
      settings: {
        default_assistant: "hello",
        node_ids: [],
        member_assistants: [],
        max_active_runs: 5,
        max_runs_per_day: 0,
        max_storage_mb: 0,
      },
    });
    expect(ended.out).toMatch(/devices:\s+all\n/);
    expect(ended.out).toMatch(/runs at once:\s+5\n/);
    expect((await yao(["workspace", "set", "team"], admin)).code).toBe(2);
    expect((await yao(["workspace", "set", "team", "--node", "a", "--all-nodes"], admin)).code).toBe(2);
    await yao(["workspace", "rename", "team", "crew"], admin);
    expect(bodyOf("PATCH", "/v1/workspaces/team")).toEqual({ name: "crew" });
  });

  test("members are listed, added, changed and removed; a role that is none is wrong usage", async () => {
    const path = "/v1/workspaces/team/members/ana%40x";
    gateway.route("PUT", path, () => ({ json: { member: { user: "ana@x", role: "viewer" } } }));
    gateway.route("DELETE", path, () => ({ json: {} }));
    gateway.route("GET", "/v1/workspaces/team/members", () => ({
      json: { members: [{ user: "ana@x", role: "viewer" }] },
    }));
    const members = (...args: string[]) => yao(["workspace", "members", ...args, "-w", "team"], admin);
    expect((await members("add", "ana@x", "--role", "viewer")).out).toBe("ana@x is viewer of team\n");
    expect(bodyOf("PUT", path)).toEqual({ role: "viewer" });
    await members("role", "ana@x", "--role", "owner");
    expect(bodyOf("PUT", path)).toEqual({ role: "owner" });
    expect((await members("list")).out).toContain("ana@x");
    expect((await members("remove", "ana@x")).out).toBe("ana@x is no member of team any more\n");
    expect((await members("add", "ana@x", "--role", "king")).code).toBe(2);
  });

  test("invite prints the link", async () => {
    const url = "https://mesh.example/#/join?code=abc";
    gateway.route("POST", "/v1/workspaces/team/invitations", () => ({ status: 201, json: { code: "abc", url } }));
    const ended = await yao(["workspace", "invite", "-w", "team", "--uses", "3", "--ttl", "1h"], admin);
    expect(ended.out).toBe(`${url}\n`);
    expect(bodyOf("POST", "/v1/workspaces/team/invitations")).toEqual({ role: "", uses: 3, ttl_seconds: 3600 });
  });

  test("secrets take their value from a variable, a file or a pipe, and show none", async () => {
    const path = "/v1/workspaces/team/secrets/KEY";
    gateway.route("PUT", path, () => ({ json: { secret: { name: "KEY", updated_at: "", updated_by: "ana" } } }));
    gateway.route("DELETE", path, () => ({ json: {} }));
    gateway.route("GET", "/v1/workspaces/team/secrets", () => ({
      json: { secrets: [{ name: "KEY", updated_at: "2026-01-01", updated_by: "ana" }] },
    }));
    const secrets = (args: readonly string[], given = {}) =>
      yao(["workspace", "secrets", ...args, "-w", "team"], { ...admin, ...given });
    const fromEnv = await secrets(["set", "KEY", "--value-env", "MINE"], { env: { MINE: "value one" } });
    expect(fromEnv).toEqual({ code: 0, out: "runs of team get KEY from now on\n", err: "" });
    expect(bodyOf("PUT", path)).toEqual({ value: "value one" });
    writeFileSync(join(home, "value"), "value two\n");
    await secrets(["set", "KEY", "--value-file", join(home, "value")]);
    expect(bodyOf("PUT", path)).toEqual({ value: "value two" });
    await secrets(["set", "KEY", "--value-stdin"], { input: "value three\n" });
    expect(bodyOf("PUT", path)).toEqual({ value: "value three" });
    expect((await secrets(["set", "KEY"])).err).toContain("--value-env NAME");
    expect((await secrets(["list"])).out).toContain("KEY");
    expect((await secrets(["remove", "KEY"])).out).toBe("KEY was removed\n");
  });
});

test("yao user lists people, and disables, enables, promotes and demotes them", async () => {
  gateway.route("GET", "/v1/users", () => ({
    json: { users: [{ name: "ana", display_name: "Ana", is_admin: false, disabled: true, created_at: "2026-01-01" }] },
  }));
  gateway.route("PATCH", "/v1/users/ana", () => ({ json: { user: { name: "ana" } } }));
  expect((await yao(["user", "list"], admin)).out).toMatch(/ana\s+Ana\s+-\s+disabled/);
  const changes = [
    ["disable", { disabled: true }, "ana is disabled\n"],
    ["enable", { disabled: false }, "ana is enabled\n"],
    ["promote", { is_admin: true }, "ana is an administrator\n"],
    ["demote", { is_admin: false }, "ana is no administrator\n"],
  ] as const;
  for (const [verb, body, text] of changes) {
    expect(await yao(["user", verb, "ana"], admin)).toEqual({ code: 0, out: text, err: "" });
    expect(bodyOf("PATCH", "/v1/users/ana")).toEqual(body);
  }
});
