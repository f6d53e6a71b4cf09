/** Where an import of a script leads: a file of the app, the guest's own API, or a reason why it may not. */

import { posix } from "node:path";

/** Reads the files of one app; paths are relative to its root, with `/`. */
export interface AppReader {
  /** The text of a file, or undefined when there is none. */
  read(path: string): string | undefined;
}

/** Where an import leads. */
export type Resolved =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "runtime" }
  | { readonly kind: "refused"; readonly reason: string };

const RUNTIME = "@yao/runtime";
const SCRIPTS = "@scripts/";
const ENDINGS = ["", ".ts", ".js", ".mjs", ".json", "/index.ts", "/index.js"] as const;
const LOADABLE = /\.(?:ts|js|mjs|json)$/;

/** Resolves `specifier` as written in the file `importer`. */
export function resolveImport(specifier: string, importer: string, app: AppReader): Resolved {
  if (specifier === RUNTIME || specifier.startsWith(`${RUNTIME}/`)) return { kind: "runtime" };
  if (specifier.startsWith(SCRIPTS))
    return find(posix.join("scripts", specifier.slice(SCRIPTS.length)), specifier, app);
  if (/^\.\.?(?:\/|$)/.test(specifier)) return find(posix.join(posix.dirname(importer), specifier), specifier, app);
  return {
    kind: "refused",
    reason: `Scripts cannot import "${specifier}": they may import files of the app (./… or @scripts/…) and types from "${RUNTIME}"`,
  };
}

function find(base: string, specifier: string, app: AppReader): Resolved {
  if (base === ".." || base.startsWith("../")) {
    return { kind: "refused", reason: `"${specifier}" leads out of the app` };
  }
  // TypeScript's own convention: `./x.js` may mean x.ts.
  const bases = base.endsWith(".js") ? [base, `${base.slice(0, -3)}.ts`] : [base];
  for (const candidate of bases.flatMap((start) => ENDINGS.map((ending) => start + ending))) {
    if (LOADABLE.test(candidate) && app.read(candidate) !== undefined) return { kind: "file", path: candidate };
  }
  return { kind: "refused", reason: `There is no file "${base}" (.ts, .js, .json) in the app` };
}
