/**
 * The service worker: the page opens without a network, and notifications are shown without the page.
 *
 * S1  The API is never cached: what is under /v1 goes to the network, or fails.
 * S2  Files with a hash in their name never change, so the cache answers first.
 * S3  A new version waits until the page asks for it, then all tabs get it at once.
 */

import { servePush } from "./push.ts";

/** Which build this is. */
export type Build = string;

declare const self: ServiceWorkerGlobalScope;

const VERSION: Build = "__VERSION__";
const FILES: readonly string[] = JSON.parse("__FILES__");
const SHELL = `shell-${VERSION}`;
const ASSETS = "assets";
const MAX_ASSETS = 200;
/** Kept by the page itself: the last board, for reading without a network. */
const KEPT: ReadonlySet<string> = new Set([SHELL, ASSETS, "last-board"]);

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.addAll([...FILES])));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (!KEPT.has(name)) await caches.delete(name);
      await self.clients.claim();
    })(),
  );
});

self.addEventListener("message", (event) => {
  if (event.data === "activate") void self.skipWaiting();
});

servePush(self);

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin || isServer(url.pathname)) return;
  if (request.mode === "navigate") event.respondWith(shell(request));
  else if (url.pathname.startsWith("/assets/")) event.respondWith(asset(request));
  else event.respondWith(caches.match(request).then((kept) => kept ?? fetch(request)));
});

/** Paths that the coordinator answers itself. */
function isServer(path: string): boolean {
  return /^\/(v1|nats|healthz|readyz|metrics|mcp)(\/|$)/.test(path);
}

async function shell(request: Request): Promise<Response> {
  const kept = await caches.match("/", { cacheName: SHELL });
  return kept ?? fetch(request);
}

async function asset(request: Request): Promise<Response> {
  const kept = await caches.match(request);
  if (kept !== undefined) return kept;
  const response = await fetch(request);
  if (response.ok) {
    const cache = await caches.open(ASSETS);
    await cache.put(request, response.clone());
    const keys = await cache.keys();
    for (const old of keys.slice(0, Math.max(0, keys.length - MAX_ASSETS))) await cache.delete(old);
  }
  return response;
}
