/**
 * The web page: the built files of `web/dist`, served from this origin.
 *
 * G1  Nothing of the page may load from, or send to, another host, and no script runs that is not a file of ours.
 * G2  Files under /assets have their hash in their name and are kept for ever; all others are asked for again each time.
 * G3  A path that is no file is the page itself, for a browser that navigates; for programs it stays a 404. What lies under
 *     /v1 and /nats is never the page.
 */

import { statSync } from "node:fs";
import { join } from "node:path";

import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

import type { BrowserPolicy } from "./browser.ts";

/** What the routes serve. */
export interface WebPageOptions {
  /** Directory with `index.html`; it may be absent. */
  readonly directory: string;
  readonly policy: BrowserPolicy;
}

const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
};
const IMMUTABLE = "public, max-age=31536000, immutable";
const REVALIDATED = "no-cache";
const API = /^\/(v1|nats|healthz|readyz|metrics)(\/|$)/;
const NOT_BUILT = `Yao Mesh is up. Its web page is not built here.

Build it with:  npm run build -w @mesh/web
or say where it is with YAO_WEB_DIR.

The command line and the interfaces work without it: yao --help, /v1/openapi.json
`;

/** Adds the routes of the page. */
export function addWebPage(app: FastifyInstance, { directory, policy }: WebPageOptions): void {
  // The routes are our own: the plugin finds, compresses and sends files, and answers conditional requests.
  void app.register(fastifyStatic, { root: directory, serve: false, preCompressed: true, cacheControl: false });
  app.get("/*", async (request, reply) => {
    const path = pathOf(request);
    if (path === undefined || API.test(path)) return reply.callNotFound();
    policy.requireOwnHost(request.headers.host);
    void reply.headers(PAGE_HEADERS);
    if (!isFile(join(directory, "index.html"))) {
      if (path !== "/") return reply.callNotFound();
      return reply.type("text/plain; charset=utf-8").send(NOT_BUILT);
    }
    const file = fileOf(directory, path);
    if (file !== undefined) return send(reply, file);
    return isNavigation(request) && !path.startsWith("/assets/") ? send(reply, "index.html") : reply.callNotFound();
  });
}

function send(reply: FastifyReply, file: string): FastifyReply {
  void reply.header("cache-control", file.startsWith("assets/") ? IMMUTABLE : REVALIDATED);
  return reply.sendFile(file);
}

/** The path as the file system would see it; undefined for one that is not well formed. */
function pathOf(request: FastifyRequest): string | undefined {
  try {
    return decodeURIComponent(request.url.split("?", 1)[0] ?? "");
  } catch {
    return undefined;
  }
}

/** The file a path names, relative to the directory; names are plain, so that none leads out of it. */
function fileOf(directory: string, path: string): string | undefined {
  const file = path.slice(1);
  if (file === "") return "index.html";
  const isPlain = file.split("/").every((part) => /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(part));
  return isPlain && !/\.(br|gz)$/.test(file) && isFile(join(directory, file)) ? file : undefined;
}

function isNavigation({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
