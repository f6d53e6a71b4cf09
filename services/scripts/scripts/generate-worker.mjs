/** Bundles the worker, with the guest inside as a text, into src/gen/worker.ts. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const root = new URL("../src/", import.meta.url);
const shared = {
  bundle: true,
  // From the sources of other packages, so that nothing has to be built first.
  conditions: ["@mesh/source"],
  write: false,
  metafile: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "error",
};

async function textOf(options) {
  const { outputFiles, metafile } = await build({ ...shared, absWorkingDir: fileURLToPath(root), ...options });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  if (options.platform === "neutral" && imports.length > 0) throw new Error(`the guest has no ${imports.join(", ")}`);
  return outputFiles[0].text;
}

const bundle = await textOf({
  entryPoints: ["guest/main.ts"],
  format: "esm",
  platform: "neutral",
  // Packages have files that need them beside the pure ones that are used here; what is left of it is looked at above.
  external: ["node:*"],
  minifySyntax: true,
  minifyWhitespace: true,
});
// The value of the script is what it exports; a wrapper of the bundler's would cost every context some time.
const EXPORT = /export\{boot\};?\s*$/;
if (!EXPORT.test(bundle)) throw new Error("the guest exports something else than boot");
const guest = `"use strict";(() => {${bundle.replace(EXPORT, "return boot")}})()`;
const worker = await textOf({
  entryPoints: ["worker/main.ts"],
  format: "cjs",
  platform: "node",
  minifySyntax: true,
  minifyWhitespace: true,
  banner: { js: '"use strict";' },
  define: { GUEST_SOURCE: JSON.stringify(guest) },
});

writeFileSync(
  new URL("gen/worker.ts", root),
  `/** Made by scripts/generate-worker.mjs from src/worker and src/guest; run \`npm run gen\` after a change there. */
export const WORKER_SOURCE: string =
  ${singleQuoted(worker)};
`,
);

/** As the formatter writes a text with many double quotes. */
function singleQuoted(text) {
  const inner = JSON.stringify(text).slice(1, -1);
  return `'${inner.replaceAll(/\\.|'/g, (part) => (part === '\\"' ? '"' : part === "'" ? "\\'" : part))}'`;
}
