import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunningGateway, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

let directory: string;
let gateway: RunningGateway;
const SCRIPT = `console.log("${"page ".repeat(200)}")`;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "yao-web-"));
  mkdirSync(join(directory, "assets"));
  writeFileSync(join(directory, "..", "yao-web-secret"), "secret");
  writeFileSync(join(directory, "index.html"), "<!doctype html><title>Yao</title>");
  writeFileSync(join(directory, "sw.js"), "// worker");
  writeFileSync(join(directory, "manifest.webmanifest"), "{}");
  writeFileSync(join(directory, "assets/app-1a2b.js"), SCRIPT);
  writeFileSync(join(directory, "assets/app-1a2b.js.br"), brotliCompressSync(SCRIPT));
  writeFileSync(join(directory, "assets/app-1a2b.js.gz"), gzipSync(SCRIPT));
  gateway = await startGateway({ api: scriptedApi().api, config: { webDirectory: directory } });
});

afterAll(async () => {
  await gateway.stop();
  rmSync(directory, { recursive: true });
  rmSync(join(directory, "..", "yao-web-secret"));
});

const html = { accept: "text/html,*/*" };
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.fetch(path, { token: "", headers });

/** A request as its bytes say: `fetch` resolves dots and sets Host itself. */
async function raw(path: string, headers: Record<string, string> = {}): Promise<{ status: number; headers: object }> {
  const request = httpRequest({ host: "127.0.0.1", port: gateway.httpPort, path, headers });
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode ?? 0, headers: response.headers };
}

describe("the page", () => {
  test("comes with a policy that lets nothing in from elsewhere, and is asked for again each time", async () => {
    const response = await get("/", html);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("<title>Yao");
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "content-security-policy":
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    });
  });

  test("is what a browser gets at any path of its own, and a program a 404", async () => {
    expect(await (await get("/board/task_1", html)).text()).toContain("<title>Yao");
    expect((await get("/board/task_1")).status).toBe(404);
    expect((await get("/assets/gone-99.js", html)).status).toBe(404);
    for (const path of ["/v1", "/v1/nothing", "/nats", "/nats/x", "/metrics/x"]) {
      const response = await get(path, html);
      expect([path, response.status, response.headers.get("content-type")]).toEqual([
        path,
        404,
        "application/problem+json; charset=utf-8",
      ]);
    }
    expect((await gateway.fetch("/board", { method: "POST", headers: html })).status).toBe(404);
  });

  test("files with a hash are kept for ever, compressed when the browser can", async () => {
    const response = await get("/assets/app-1a2b.js", { "accept-encoding": "br, gzip" });
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("content-encoding")).toBe("br");
    expect(response.headers.get("content-type")).toContain("javascript");
    expect(response.headers.get("vary")?.toLowerCase()).toContain("accept-encoding");
    expect(await response.text()).toBe(SCRIPT);
    expect((await get("/assets/app-1a2b.js", { "accept-encoding": "gzip" })).headers.get("content-encoding")).toBe(
      "gzip",
    );
    const plain = await get("/assets/app-1a2b.js", { "accept-encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect((await get("/assets/app-1a2b.js.br")).status).toBe(404);
  });

  test("the worker and the manifest are asked for again, with their types", async () => {
    const worker = await get("/sw.js");
    expect([worker.status, worker.headers.get("cache-control")]).toEqual([200, "no-cache"]);
    expect((await get("/manifest.webmanifest")).headers.get("content-type")).toContain("application/manifest+json");
    const again = await raw("/sw.js", { "if-none-match": worker.headers.get("etag") ?? "" });
    expect(again.status).toBe(304);
  });

  test("no path leads out of the directory", async () => {
    for (const path of [
      "/../yao-web-secret",
      "/assets/../../yao-web-secret",
      "/%2e%2e/yao-web-secret",
      "/..%2fyao-web-secret",
      "/assets/%2e%2e%2f%2e%2e%2fyao-web-secret",
      "/%00",
      "/%ff",
      "/.hidden",
      "//etc/passwd",
    ]) {
      expect([path, (await raw(path)).status]).toEqual([path, path === "/%ff" ? 400 : 404]);
    }
  });

  test("is not served under a name that is not ours", async () => {
    expect((await raw("/", { host: "evil.example" })).status).toBe(421);
  });
});

test("without a built page the root says how to build it", async () => {
  await using bare = await startGateway({
    api: scriptedApi().api,
    config: { webDirectory: join(directory, "absent") },
  });
  const response = await bare.fetch("/", { token: "" });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(await response.text()).toContain("npm run build -w @mesh/web");
  expect((await bare.fetch("/board", { token: "", headers: html })).status).toBe(404);
});
