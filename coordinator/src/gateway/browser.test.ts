import { once } from "node:events";

import { type IncomingMessage, request as httpRequest } from "node:http";

import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import { csrfTokenOf, newSessionText } from "../auth/session.ts";
import { BrowserPolicy, type BrowserRequest, cookieValue, sessionOf } from "./browser.ts";
import { OPERATIONS } from "./operations.ts";
import { callerWith, type RunningGateway, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

const SESSION = newSessionText();
const CSRF = csrfTokenOf(SESSION);
const COOKIE = `theme=dark; yao_session=${SESSION}`;
const callers = new Map([[SESSION, callerWith(["admin"], { session: { csrfToken: CSRF } })]]);

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** A request with any headers: `fetch` refuses Host, Origin and Cookie. */
async function send(
  gateway: RunningGateway,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<Answer> {
  const body = method === "GET" || method === "DELETE" ? undefined : "{}";
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const request = httpRequest(`${gateway.url}${path}`, { method, headers: { ...type, ...headers } });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8"), headers: response.headers };
}

const pathOf = (path: string): string => path.replaceAll(/\{\w+\}/g, "x");

describe("calls with the session's cookie", () => {
  /** Routes that are no rows of the table. */
  const others = ["/v1/workspaces/x/assistants/x/mcp", "/v1/chat/completions"].map((path) => ({
    verb: "POST",
    path,
    scope: "runs",
  }));
  const changing = [...OPERATIONS.filter(({ verb }) => verb !== "GET"), ...others];

  test(
    "change nothing without the CSRF token, with an Origin elsewhere or none, or under another name: every route that changes something",
    { timeout: 60_000 },
    async () => {
      const { api, calls } = scriptedApi();
      await using gateway = await startGateway({ api, callers });
      const own = { cookie: COOKIE, origin: gateway.url };
      expect(changing.length).toBeGreaterThan(20);
      for (const { verb, path, scope } of changing) {
        const status = async (headers: Readonly<Record<string, string>>): Promise<number> =>
          (await send(gateway, verb, pathOf(path), headers)).status;
        const at = `${verb} ${path}`;
        const csrf = { "x-csrf-token": CSRF };
        expect([at, await status({ ...own, ...csrf, origin: "https://evil.example" })]).toEqual([at, 403]);
        expect([at, await status({ ...own, ...csrf, origin: "null" })]).toEqual([at, 403]);
        expect([at, await status({ cookie: COOKIE, ...csrf })]).toEqual([at, 403]);
        expect([at, await status({ ...own, ...csrf, host: "evil.example" })]).toEqual([at, 421]);
        // Operations without a caller take nothing from the cookie: there is nothing to forge.
        if (scope === "none") continue;
        expect([at, await status(own)]).toEqual([at, 403]);
        expect([at, await status({ ...own, "x-csrf-token": csrfTokenOf(newSessionText()) })]).toEqual([at, 403]);
      }
      expect(calls).toEqual([]);
    },
  );

  test("reach their handler with the CSRF token of the session, and read without it", async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api, callers });
    const own = { cookie: COOKIE, origin: gateway.url, "x-csrf-token": CSRF };
    expect((await send(gateway, "POST", "/v1/login-codes", own)).status).toBe(201);
    expect(calls.at(-1)).toMatchObject({ method: "createLoginCode", call: { caller: { userName: "ada" } } });
    expect((await send(gateway, "GET", "/v1/account", { cookie: COOKIE })).status).toBe(200);
    expect((await send(gateway, "GET", "/v1/account", { cookie: COOKIE, origin: "https://evil.example" })).status).toBe(
      403,
    );
    expect((await send(gateway, "GET", "/v1/account", { cookie: COOKIE, host: "evil.example" })).status).toBe(421);
    expect((await send(gateway, "GET", "/v1/account", { cookie: "yao_session=made-up" })).status).toBe(401);
  });

  test("an invitation is joined in the caller's name only with the CSRF token", async () => {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api, callers });
    const own = { cookie: COOKIE, origin: gateway.url };
    expect((await send(gateway, "POST", "/v1/invitations/x", own)).status).toBe(403);
    expect((await send(gateway, "POST", "/v1/invitations/x", { ...own, "x-csrf-token": CSRF })).status).toBe(200);
    expect(calls.at(-1)?.call.caller.userName).toBe("ada");
    const stale = { cookie: `yao_session=${newSessionText()}`, origin: gateway.url };
    expect((await send(gateway, "POST", "/v1/invitations/x", stale)).status).toBe(200);
    expect(calls.at(-1)?.call.caller.userName).toBe("anonymous");
  });

  test("a token in Authorization needs no CSRF token and goes before the cookie", async () => {
    const { api, calls } = scriptedApi();
    const both = new Map([...callers, ["program", callerWith(["tokens"], { userName: "bot" })]]);
    await using gateway = await startGateway({ api, callers: both });
    const headers = { authorization: "Bearer program", cookie: COOKIE };
    expect((await send(gateway, "POST", "/v1/login-codes", headers)).status).toBe(201);
    expect(calls.at(-1)?.call.caller.userName).toBe("bot");
    // What a proxy in front asks for is not a token: the browser sends it by itself.
    const basic = { authorization: "Basic YTpi", cookie: COOKIE, origin: gateway.url };
    expect((await send(gateway, "POST", "/v1/login-codes", basic)).status).toBe(403);
  });
});

describe("log-in over HTTP", () => {
  const answer = { account: undefined, csrf_token: CSRF, token: SESSION, expires_at: "" };

  test("puts the session into a cookie that no script reads, and nowhere else", async () => {
    const { api } = scriptedApi({ logIn: async () => answer });
    await using gateway = await startGateway({ api });
    const { headers, body } = await send(gateway, "POST", "/v1/login", {});
    expect(headers["set-cookie"]).toEqual([`yao_session=${SESSION}; Path=/; Max-Age=15552000; HttpOnly; SameSite=Lax`]);
    expect(body).not.toContain(SESSION);
    expect(JSON.parse(body)).toMatchObject({ csrf_token: CSRF, token: "" });
  });

  test("behind an https address the cookie is Secure, and its Origin counts whatever Host the proxy sends", async () => {
    const { api } = scriptedApi({ logIn: async () => answer });
    await using gateway = await startGateway({ api, callers, config: { publicUrl: "https://mesh.example" } });
    const { headers } = await send(gateway, "POST", "/v1/login", { origin: "https://mesh.example" });
    expect(headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
    const from = async (origin: string, host = "mesh.example"): Promise<number> => {
      const own = { cookie: COOKIE, "x-csrf-token": CSRF, origin, host };
      return (await send(gateway, "POST", "/v1/login-codes", own)).status;
    };
    expect(await from("https://mesh.example")).toBe(201);
    expect(await from("https://mesh.example", "127.0.0.1:7400")).toBe(201);
    expect(await from("http://mesh.example")).toBe(403);
    expect(await from("https://mesh.example:444")).toBe(403);
  });

  test("the cookie goes at log-out", async () => {
    const { api } = scriptedApi();
    await using gateway = await startGateway({ api, callers });
    const own = { cookie: COOKIE, origin: gateway.url, "x-csrf-token": CSRF };
    const { headers } = await send(gateway, "POST", "/v1/logout", own);
    expect(headers["set-cookie"]).toEqual(["yao_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"]);
  });
});

describe("/v1/ws with the session's cookie", () => {
  async function firstFrame(gateway: RunningGateway, headers: Readonly<Record<string, string>>): Promise<unknown> {
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/ws`, {
      headers: { cookie: COOKIE, ...headers },
    });
    try {
      const [data] = (await once(socket, "message")) as [Buffer];
      return JSON.parse(data.toString("utf8"));
    } finally {
      socket.terminate();
    }
  }

  test("is served to our own page and to no other", async () => {
    const { api } = scriptedApi();
    await using gateway = await startGateway({ api, callers });
    expect(await firstFrame(gateway, { origin: gateway.url })).toEqual({ type: "ready", user: "ada" });
    for (const headers of [{ origin: "https://evil.example" }, {}]) {
      expect(await firstFrame(gateway, headers as Record<string, string>)).toMatchObject({
        type: "error",
        code: "permission_denied",
      });
    }
  });
});

describe("the policy", () => {
  const policy = new BrowserPolicy({ publicUrl: () => "https://mesh.example", hostNames: ["Desk"] });
  const request = (part: Partial<BrowserRequest>): BrowserRequest => ({
    method: "GET",
    host: "127.0.0.1:7400",
    origin: undefined,
    cookie: undefined,
    csrfToken: undefined,
    ...part,
  });

  test.each([
    "127.0.0.1",
    "[::1]:7400",
    "192.168.1.5:7400",
    "localhost:7400",
    "yao.localhost",
    "desk:7400",
    "desk.local",
    "mesh.example",
  ])("%s is a name of this machine", (host) => {
    expect(() => policy.requireOwnPage(request({ host }))).not.toThrow();
  });

  test.each([
    "",
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "mesh.example.evil",
    "a b",
    "user@127.0.0.1",
    "mesh.example:99999999",
  ])("%j is none", (host) => {
    expect(() => policy.requireOwnPage(request({ host }))).toThrow(expect.objectContaining({ status: 421 }));
  });

  test("a page on another port of this machine is another page", () => {
    expect(() => policy.requireOwnPage(request({ origin: "http://127.0.0.1:7401" }))).toThrow(
      "may not use this log-in",
    );
    expect(() => policy.requireOwnPage(request({ origin: "http://127.0.0.1:7400" }))).not.toThrow();
  });

  test("a cookie is found among others, and only in the form of a session", () => {
    expect(sessionOf(`a=1; yao_session=${SESSION}; b=2`)).toBe(SESSION);
    expect(sessionOf("yao_session=short")).toBeUndefined();
    expect(sessionOf(`xyao_session=${SESSION}`)).toBeUndefined();
    expect(cookieValue(`yao_session=${SESSION};${" ".repeat(20_000)}`, "yao_session")).toBeUndefined();
  });
});

test("only a trusted proxy says where a request comes from", async () => {
  for (const [trustedProxies, seen] of [
    [[], "127.0.0.1"],
    [["127.0.0.1/8"], "203.0.113.9"],
  ] as const) {
    const { api, calls } = scriptedApi();
    await using gateway = await startGateway({ api, config: { trustedProxies } });
    await send(gateway, "POST", "/v1/login", { "x-forwarded-for": "198.51.100.1, 203.0.113.9" });
    expect(calls.at(-1)?.call.client?.address).toBe(seen);
  }
});
