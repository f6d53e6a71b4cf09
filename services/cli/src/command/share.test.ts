/** Promoting, task agents and sharing: in this process, against a coordinator at the wire. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { type Ended, runYao } from "../testing/run-yao.ts";
import { StubGateway } from "../testing/stub-gateway.ts";

let gateway: StubGateway;
let home: string;

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
});
afterEach(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

const yao = (...args: readonly string[]): Promise<Ended> => runYao({ url: gateway.url, home }, args);

const AGENT = { id: "weekly", version: 2, task_key: "T-12", name: "Weekly" };

test("a task is promoted by its key in the workspace in use, and its package is written where it is wanted", async () => {
  const bodies: unknown[] = [];
  gateway.route("POST", "/v1/tasks/default%3AT-12/promote", ({ body }) => {
    bodies.push(JSON.parse(body));
    return { status: 201, json: { agent: AGENT } };
  });
  const files = [{ path: "assistants/weekly/prompts.yml", text: "- role: system\n" }];
  gateway.route("GET", "/v1/workspaces/default/agents/weekly", () => ({ json: { agent: AGENT, files, versions: [] } }));
  const out = join(home, "package");
  const ended = await yao("task", "promote", "T-12", "--agent", "weekly", "--instructions", "Be short", "--out", out);
  expect(ended).toMatchObject({ code: 0, out: "weekly is version 2 of the agent of T-12\n" });
  expect(bodies).toMatchObject([{ agent: "weekly", instructions: "Be short" }]);
  expect(readFileSync(join(out, "assistants/weekly/prompts.yml"), "utf8")).toBe("- role: system\n");
});

test("a file that would lie outside of the package is written nowhere", async () => {
  gateway.route("POST", "/v1/tasks/default%3AT-12/promote", () => ({ status: 201, json: { agent: AGENT } }));
  const files = [{ path: "../outside.txt", text: "x" }];
  gateway.route("GET", "/v1/workspaces/default/agents/weekly", () => ({ json: { agent: AGENT, files, versions: [] } }));
  const ended = await yao("task", "promote", "T-12", "--out", join(home, "package"));
  expect(ended.code).toBe(1);
  expect(ended.err).toContain("is no path inside of a package");
});

test("a link is printed once, alone on its line; what is shared has to be named, and one thing only", async () => {
  gateway.route("POST", "/v1/workspaces/default/shares", () => ({
    status: 201,
    json: { share: { id: "share_1" }, code: "c", url: "https://mesh.test/s/c" },
  }));
  expect(await yao("share", "create", "--task", "T-1", "--ttl", "7d")).toMatchObject({
    code: 0,
    out: "https://mesh.test/s/c\n",
  });
  for (const args of [[], ["--task", "T-1", "--agent", "a"]]) {
    const ended = await yao("share", "create", ...args);
    expect([ended.code, ended.err]).toEqual([2, expect.stringContaining("either --task or --agent")]);
  }
});

test("links are listed and revoked", async () => {
  const share = { id: "share_1", kind: "task", title: "Weekly", access: "view", opened: 3, created_by: "ana" };
  gateway.route("GET", "/v1/workspaces/default/shares", () => ({ json: { shares: [share] } }));
  gateway.route("DELETE", "/v1/workspaces/default/shares/share_1", () => ({ json: {} }));
  expect((await yao("share", "list")).out).toContain("share_1");
  expect(await yao("share", "revoke", "share_1")).toMatchObject({ code: 0, out: "share_1 opens nothing any more\n" });
});

test("task agents are listed, shown with versions and files, and removed", async () => {
  const path = "/v1/workspaces/default/agents";
  const versions = [{ version: 2, digest: "d2", created_at: "2026-01-02T00:00:00.000Z" }];
  const files = [{ path: "assistants/weekly/package.yao", text: "{}" }];
  gateway.route("GET", path, () => ({ json: { agents: [AGENT] } }));
  gateway.route("GET", `${path}/weekly`, () => ({ json: { agent: AGENT, versions, files } }));
  gateway.route("DELETE", `${path}/weekly`, () => ({ json: {} }));
  expect((await yao("agent", "list")).out).toMatch(/^weekly +Weekly +2 +T-12 /m);
  const { out } = await yao("agent", "show", "weekly");
  expect(out).toMatch(/^task: +T-12$/m);
  expect(out).toMatch(/^2 +2026-01-02T00:00:00.000Z$/m);
  expect(out).toMatch(/^assistants\/weekly\/package.yao$/m);
  expect(await yao("agent", "remove", "weekly")).toMatchObject({ code: 0, out: "weekly was removed\n" });
});
