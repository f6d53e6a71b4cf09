/** After the bundler: gives the service worker its list of files, and compresses everything once for all requests. */

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const DIST = join(import.meta.dirname, "../dist");
const MIN_BYTES = 512;
const COMPRESSED = /\.(js|css|html|svg|webmanifest|json)$/;

const manifest = JSON.parse(readFileSync(join(DIST, ".vite/manifest.json"), "utf8"));

/** What the first screen and the board need; other routes are cached when they are first opened. */
function shellFiles() {
  const found = new Set(["/", "/manifest.webmanifest", "/icon.svg"]);
  const visit = (key) => {
    const chunk = manifest[key];
    if (chunk === undefined || found.has(`/${chunk.file}`)) return;
    found.add(`/${chunk.file}`);
    for (const css of chunk.css ?? []) found.add(`/${css}`);
    for (const next of chunk.imports ?? []) visit(next);
  };
  for (const key of Object.keys(manifest)) {
    if (key === "index.html" || /src\/(app\/shell|pages\/(board|task|login)\/)/.test(key)) visit(key);
  }
  return [...found].sort();
}

const files = shellFiles();
const version = createHash("sha256").update(files.join("\n")).digest("hex").slice(0, 12);
const worker = join(DIST, "sw.js");
const source = readFileSync(worker, "utf8");
const filled = source
  .replaceAll("__VERSION__", version)
  .replace(/(["'`])__FILES__\1/, JSON.stringify(JSON.stringify(files)));
if (filled === source) throw new Error("sw.js has no place for its list of files");
writeFileSync(worker, filled);

function walk(directory) {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

for (const path of walk(DIST)) {
  if (!COMPRESSED.test(path) || relative(DIST, path).startsWith(".vite")) continue;
  const bytes = readFileSync(path);
  if (bytes.length < MIN_BYTES) continue;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}
