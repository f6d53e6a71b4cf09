/** People as they come in: the link of the first start, a browser's session, an invitation, a password, and out again. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import { YaoHome } from "./yao-command.ts";

const PASSWORD = "correct horse battery";
let home: YaoHome;
let url: string;
let firstLink: string;

beforeAll(async () => {
  home = new YaoHome();
  const said = (await home.up()).stdout();
  url = /is up at (http:\S+)/.exec(said)?.[1] ?? "";
  firstLink = /^Open {2}(\S+)$/m.exec(said)?.[1] ?? "";
});

afterAll(() => home?.[Symbol.asyncDispose]());

/** A browser with one cookie, on a page of ours. */
class Browser {
  #cookie = "";
  #csrf = "";

  async send(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        origin: url,
        ...(this.#cookie === "" ? {} : { cookie: this.#cookie, "x-csrf-token": this.#csrf }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for (const line of response.headers.getSetCookie()) this.#cookie = line.split(";")[0] ?? "";
    return response;
  }

  /** Logs in; the status of the answer. */
  async logIn(body: object, path = "/v1/login"): Promise<number> {
    const response = await this.send("POST", path, body);
    const answer = (await response.json()) as { csrf_token?: string };
    this.#csrf = answer.csrf_token ?? "";
    return response.status;
  }

  /** The first frame of a socket. */
  async socket(origin: string): Promise<unknown> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/v1/ws`, { headers: { cookie: this.#cookie, origin } });
    try {
      return await new Promise<unknown>((resolve, reject) => {
        socket.once("error", reject);
        socket.once("message", (data: Buffer) => resolve(JSON.parse(data.toString("utf8"))));
      });
    } finally {
      socket.terminate();
    }
  }
}

const codeIn = (link: string): string => new URL(link).hash.split("code=")[1] ?? "";

describe("the link of the first start", () => {
  const admin = new Browser();

  test("logs a browser in as the administrator, once, without an account or a password", async () => {
    expect(firstLink).toMatch(new RegExp(`^${url}/#/login\\?code=[\\w-]{43}$`));
    expect(await (await admin.send("GET", "/v1/login")).json()).toMatchObject({ passwords: false, oidc_label: "" });
    expect(await admin.logIn({ code: codeIn(firstLink) })).toBe(200);
    expect(await new Browser().logIn({ code: codeIn(firstLink) })).toBe(401);
    const { account } = (await (await admin.send("GET", "/v1/account")).json()) as { account: object };
    expect(account).toMatchObject({ name: "admin", is_admin: true, has_password: false });
  });

  test("that session reads, changes and follows as a token does, and only from our own page", async () => {
    expect((await admin.send("POST", "/v1/workspaces", { name: "made-by-page" })).status).toBe(201);
    const csrf = { "x-csrf-token": "made up" };
    expect((await admin.send("POST", "/v1/workspaces", { name: "forged" }, csrf)).status).toBe(403);
    const evil = { origin: "https://evil.example" };
    expect((await admin.send("POST", "/v1/workspaces", { name: "forged" }, evil)).status).toBe(403);
    expect(await admin.socket(url)).toEqual({ type: "ready", user: "admin" });
    expect(await admin.socket("https://evil.example")).toMatchObject({ type: "error", code: "permission_denied" });
    const run = { assistant: "hello", input: "from a page" };
    const started = await admin.send("POST", "/v1/workspaces/default/runs", run);
    const { run: made } = (await started.json()) as { run: { id: string } };
    const events = await admin.send("GET", `/v1/runs/${made.id}/events`, undefined, { accept: "text/event-stream" });
    expect(await events.text()).toContain("from a page");
  });

  test("yao web gives another link at any time, and logging out ends the session", async () => {
    const { url: link } = await home.json<{ url: string }>(["web"]);
    const second = new Browser();
    expect(await second.logIn({ code: codeIn(link) })).toBe(200);
    expect((await second.send("POST", "/v1/logout", {})).status).toBe(200);
    expect((await second.send("GET", "/v1/account")).status).toBe(401);
    expect((await admin.send("GET", "/v1/account")).status).toBe(200);
  });
});

describe("people who are invited", () => {
  const ana = new Browser();

  test("make their account with the link, and belong to the workspace with its role", async () => {
    const { url: link } = await home.json<{ url: string }>(["workspace", "invite", "--role", "member"]);
    expect(link).toContain("/#/join?code=");
    const request = { name: "ana", password: PASSWORD, display_name: "Ana" };
    expect(await ana.logIn(request, `/v1/invitations/${codeIn(link)}`)).toBe(200);
    const { workspaces } = (await (await ana.send("GET", "/v1/workspaces")).json()) as { workspaces: object[] };
    expect(workspaces).toEqual([expect.objectContaining({ name: "default", role: "member" })]);
    expect(await new Browser().logIn(request, `/v1/invitations/${codeIn(link)}`)).toBe(404);
  });

  test("log the command line in with their password, and out again", async () => {
    await using other = new YaoHome();
    const login = ["login", url, "--user", "ana", "--password-file", "-"];
    expect(await other.run(login, { input: "wrong password\n" })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("do not belong together"),
    });
    expect(await other.run(login, { input: `${PASSWORD}\n` })).toMatchObject({
      code: 0,
      stdout: `logged in at ${url} as ana\n`,
    });
    expect(await other.run(["run", "hello", "hi"])).toMatchObject({ code: 0, stdout: "You said: hi\n" });
    expect((await other.run(["user", "list"])).code).toBe(1);
    expect((await other.run(["logout"])).code).toBe(0);
    expect((await other.run(["whoami"])).code).toBe(1);
  });

  test("are out at once when an administrator disables them, and in again when enabled", async () => {
    expect((await ana.send("GET", "/v1/account")).status).toBe(200);
    expect((await home.run(["user", "disable", "ana"])).stdout).toBe("ana is disabled\n");
    expect((await ana.send("GET", "/v1/account")).status).toBe(401);
    expect(await ana.logIn({ name: "ana", password: PASSWORD })).toBe(401);
    await home.run(["user", "enable", "ana"]);
    expect(await ana.logIn({ name: "ana", password: PASSWORD })).toBe(200);
    expect((await home.run(["user", "demote", "admin"])).stderr).toContain("the last administrator");
  });
});

describe("what a workspace sets for itself", () => {
  test("its variables reach its runs, and nobody reads them back", async () => {
    const app = join(home.dir, "app");
    mkdirSync(join(app, "assistants/greeter/src"), { recursive: true });
    writeFileSync(
      join(app, "assistants/greeter/package.yao"),
      JSON.stringify({ name: "Greeter", type: "assistant", connector: "demo" }),
    );
    writeFileSync(join(app, "assistants/greeter/prompts.yml"), "- role: system\n  content: You greet.\n");
    writeFileSync(
      join(app, "assistants/greeter/src/index.ts"),
      `import { Process } from "@yao/runtime";
       export function Create(ctx, messages) {
         return { messages: [{ role: "user", content: "it is " + Process("utils.env.Get", "E2E_GREETING") }] };
       }`,
    );
    expect(await home.run(["app", "push", app])).toMatchObject({ code: 0 });
    const set = ["workspace", "secrets", "set", "E2E_GREETING", "--value-stdin"];
    expect(await home.run(set, { input: "good morning\n" })).toMatchObject({ code: 0 });
    expect(await home.run(["run", "greeter", "hi"])).toMatchObject({
      code: 0,
      stdout: "You said: it is good morning\n",
    });
    const listed = await home.run(["workspace", "secrets", "list", "--json"]);
    expect(listed.stdout).toContain("E2E_GREETING");
    expect(listed.stdout).not.toContain("good morning");
  });

  test("its limit on runs of a day is told to who is over it", async () => {
    expect((await home.run(["workspace", "set", "default", "--max-runs-per-day", "1"])).stdout).toMatch(
      /runs a day:\s+1\n/,
    );
    const refused = await home.run(["run", "hello", "hi"]);
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("allows itself one run within 24 hours"),
    });
    expect((await home.run(["workspace", "set", "default", "--max-runs-per-day", "0"])).code).toBe(0);
    expect((await home.run(["run", "hello", "hi"])).code).toBe(0);
  });
});
