/** Behind a proxy that passes no Upgrade headers, as they are by default: the page goes on by server-sent events. */

import {
  createServer,
  type IncomingMessage,
  request as requestHttp,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

import { demoAppDirectory } from "@mesh/assistants";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findChromium, startChromium } from "../harness/chromium.ts";
import { TestMesh } from "../harness/test-mesh.ts";

const CHROMIUM = findChromium();
const REASON = CHROMIUM === undefined ? "no chromium here: apt-get install chromium, or set YAO_TEST_CHROMIUM" : "";
if (REASON !== "") process.stderr.write(`skipped: ${REASON}\n`);

/** Hop-by-hop headers, which a proxy keeps to itself. */
const KEPT: readonly string[] = ["connection", "upgrade", "keep-alive", "te", "trailer", "transfer-encoding"];

/** A proxy that knows plain HTTP alone. */
class PlainProxy {
  /** "METHOD path status" of what came, with `upgrade` where one was asked for. */
  readonly seen: string[] = [];
  readonly #target: URL;
  readonly #server: Server = createServer((request, response) => this.#pass(request, response));

  constructor(target: string) {
    this.#target = new URL(target);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !KEPT.includes(name)));
    const { hostname, port } = this.#target;
    const { method = "GET", url = "/" } = incoming;
    const onward = requestHttp({ hostname, port, method, path: url, headers, agent: false }, (answer) => {
      const asked = incoming.headers.upgrade === undefined ? "" : " upgrade";
      const type = answer.headers["content-type"] ?? "";
      this.seen.push(
        `${method} ${url} ${answer.statusCode ?? 0}${asked}${type.includes("event-stream") ? " stream" : ""}`,
      );
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe.skipIf(REASON !== "")("a proxy without Upgrade headers", () => {
  let mesh: TestMesh;
  let proxy: PlainProxy;
  let url: string;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    mesh = await TestMesh.start({ nodes: [{ name: "alpha" }] });
    await mesh.pushApp("demo", demoAppDirectory);
    proxy = new PlainProxy(mesh.api.url);
    url = await proxy.listen();
    browser = await startChromium(CHROMIUM ?? "");
    page = await (await browser.newContext({ locale: "en" })).newPage();
    page.setDefaultTimeout(20_000);
    const code = await mesh.api.call<{ url: string }>("POST", "/v1/login-codes", {});
    const link = new URL(code.url);
    await page.goto(`${url}${link.pathname}${link.search}${link.hash}`);
    await page.getByRole("link", { name: "Devices" }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await proxy?.stop();
    await mesh?.stop();
  });

  test("lets a page follow a run to its end, in two tabs, without a banner of a lost connection", async () => {
    const body = { title: "Count", message: "/count 1200 every 50ms", assistant: "hello", start: true };
    const { task } = await mesh.api.call<{ task: { id: string; run_id: string } }>(
      "POST",
      "/v1/workspaces/default/tasks",
      body,
    );
    const other = await page.context().newPage();
    for (const tab of [page, other]) await tab.goto(`${url}/task/${task.id}`);
    const stream = (): string[] =>
      proxy.seen.filter((line) => line.startsWith(`GET /v1/runs/${task.run_id}/events`) && line.endsWith("stream"));
    await expect.poll(() => stream().length, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
    expect(proxy.seen.some((line) => /^GET \/v1\/ws\S* 4\d\d upgrade$/.test(line))).toBe(true);
    expect(proxy.seen.some((line) => / 101/.test(line))).toBe(false);
    for (const tab of [page, other]) {
      await tab
        .getByRole("log")
        .getByText(/\b20\b/)
        .first()
        .waitFor();
      expect(await tab.getByText("No connection to the server").count()).toBe(0);
    }
    expect((await mesh.run(task.run_id)).state).toBe("running");
    await mesh.api.call("POST", `/v1/runs/${task.run_id}/cancel`, {});
    const ended = await mesh.ended(task.run_id);
    for (const tab of [page, other]) await tab.getByText("Stopped").filter({ visible: true }).first().waitFor();
    expect(ended.state).toBe("cancelled");
  });
});
