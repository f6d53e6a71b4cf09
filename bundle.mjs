/**
 * Makes one file of each entry of the packages that ship so, beside what `tsc` has built: Node takes about as long for each
 * file that it loads as for a thousand lines. Which packages those are, their `exports` say: `default` names a file below
 * `dist/bundled`. Only a package's own modules are joined, so that each exists once in a process; what is imported later
 * stays a file of its own.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const ROOT = import.meta.dirname;
const SHIPPED = "./dist/bundled/";

const { workspaces } = manifestOf(".");
for (const folder of workspaces) {
  const entryPoints = entriesOf(manifestOf(folder));
  if (Object.keys(entryPoints).length === 0) continue;
  await build({
    absWorkingDir: join(ROOT, folder),
    entryPoints,
    outdir: SHIPPED,
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20.19",
    sourcemap: true,
    chunkNames: "chunk/[name]-[hash]",
    logLevel: "warning",
  });
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8"));
}

/** Name below `dist/bundled`, without extension, to source file. */
function entriesOf({ exports = {} }) {
  const shipped = Object.values(exports).filter((entry) => entry.default?.startsWith(SHIPPED));
  return Object.fromEntries(
    shipped.map((entry) => [entry.default.slice(SHIPPED.length).replace(/\.js$/, ""), entry["@mesh/source"]]),
  );
}
