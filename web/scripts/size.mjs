/** `npm run size`: what a browser loads per route, gzipped, against the limits. Fails when one is passed. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const DIST = join(import.meta.dirname, "../dist");
const KB = 1024;
const LIMITS = { public: 100 * KB, board: 150 * KB, lazy: 60 * KB, css: 20 * KB };

const manifestPath = join(DIST, ".vite/manifest.json");
if (!existsSync(manifestPath)) {
  process.stderr.write("web/dist is not there; run npm run build -w @mesh/web first\n");
  process.exit(1);
}
const manifest = JSON.parse(readFileSync(manifestPath, "utf8"));
const sizes = new Map();

function gzipped(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length);
  return sizes.get(file);
}

/** Files of a chunk with everything that it imports at once. */
function closure(key, found = new Set()) {
  const chunk = manifest[key];
  if (chunk === undefined) throw new Error(`the build has no ${key}`);
  if (found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const css of chunk.css ?? []) found.add(css);
  for (const next of chunk.imports ?? []) closure(next, found);
  return found;
}

const sum = (files, ending) =>
  [...files].filter((file) => file.endsWith(ending)).reduce((n, file) => n + gzipped(file), 0);
const together = (...keys) => keys.reduce((found, key) => closure(key, found), new Set());
const rows = [];
const check = (name, bytes, limit) => rows.push({ name, bytes, limit, ok: bytes <= limit });

const keys = Object.keys(manifest);
const pages = keys.filter((key) => /^src\/pages\/.*page\.tsx$/.test(key)).sort();
for (const key of pages.filter((page) => /pages\/(login|setup|join|share)\//.test(page))) {
  check(`entry + ${key}`, sum(together("index.html", key), ".js"), LIMITS.public);
}
const shell = "src/app/shell.tsx";
const work = "src/pages/work/work-page.tsx";
const board = "src/pages/board/board-page.tsx";
check("entry + board", sum(together("index.html", shell, work, board), ".js"), LIMITS.board);

const loaded = together("index.html", ...keys.filter((key) => key === shell));
const dynamic = keys.filter((key) => manifest[key].isDynamicEntry && key !== shell).sort();
for (const key of dynamic) {
  const own = [...closure(key)].filter((file) => !loaded.has(file));
  check(`lazy ${key}`, sum(own, ".js"), LIMITS.lazy);
}
const styles = new Set(
  keys.flatMap((key) => [...(manifest[key].css ?? []), ...(key.endsWith(".css") ? [manifest[key].file] : [])]),
);
check("all CSS", sum(styles, ".css"), LIMITS.css);

for (const { name, bytes, limit, ok } of rows) {
  const text = `${(bytes / KB).toFixed(1).padStart(6)} / ${(limit / KB).toFixed(0).padStart(3)} kB  ${name}`;
  process.stdout.write(`${ok ? "ok  " : "FAIL"} ${text}\n`);
}
if (rows.some(({ ok }) => !ok)) process.exit(1);
