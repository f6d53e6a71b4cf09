/** Bundles the worker, with the guest inside as a text, into src/gen/worker.ts. */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const root = new URL("../src/", import.meta.url);
const shared = {
  bundle: true,
  write: false,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "error",
};

async function textOf(options) {
  const { outputFiles } = await build({ ...shared, absWorkingDir: fileURLToPath(root), ...options });
  return outputFiles[0].text;
}

const guest = await textOf({
  stdin: { contents: 'import { boot } from "./guest/main.ts";\nexport default boot;', resolveDir: fileURLToPath(root) },
  format: "iife",
  globalName: "guest",
  platform: "neutral",
  minifySyntax: true,
  minifyWhitespace: true,
  banner: { js: '"use strict";(() => {' },
  footer: { js: "return guest.default })()" },
});
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
