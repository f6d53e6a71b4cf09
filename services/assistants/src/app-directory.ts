/** Reads an app from a directory, within the bounds of an app and never from outside the directory. */

import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";

import { errorText, MeshError } from "@mesh/kernel";

import type { AppFiles } from "./app.ts";
import { APP_LIMITS, AppBudget, type AppLimits, MAX_PATH_DEPTH, requireSafePath } from "./app-path.ts";
import { compareText } from "./problem-log.ts";

// Never part of an app: what tools put beside it.
const SKIPPED = new Set(["node_modules", "dist"]);

/** How a directory is read. */
export interface AppDirectoryOptions {
  readonly limits?: AppLimits;
  /** Files that lie in the directory and are no part of the app, such as results of evals. */
  readonly isForeign?: (path: string, bytes: number) => boolean;
}

/** The files of an app's directory; dot files, node_modules and dist are left out, links out of it are refused. */
export async function readAppDirectory(dir: string, options: AppDirectoryOptions = {}): Promise<AppFiles> {
  const root = await realpath(dir).catch((thrown: unknown) => {
    throw new MeshError("not_found", `cannot read the app directory ${dir}: ${errorText(thrown)}`, { cause: thrown });
  });
  if (!(await stat(root)).isDirectory()) {
    throw new MeshError("invalid_argument", `${dir} is not a directory; give the directory that holds assistants/`);
  }
  const walk = new Walk(root, new AppBudget(options.limits ?? APP_LIMITS), options.isForeign);
  await walk.folder(root, "");
  return new Map([...walk.files].toSorted(([a], [b]) => compareText(a, b)));
}

class Walk {
  readonly files = new Map<string, Uint8Array>();
  readonly #root: string;
  readonly #budget: AppBudget;
  readonly #isForeign: (path: string, bytes: number) => boolean;

  constructor(root: string, budget: AppBudget, isForeign: AppDirectoryOptions["isForeign"] = () => false) {
    this.#root = root;
    this.#budget = budget;
    this.#isForeign = isForeign;
  }

  async folder(real: string, prefix: string): Promise<void> {
    // A link to a folder above would recurse for ever; so deep it is refused, whatever the cause.
    if (prefix.split("/").length > MAX_PATH_DEPTH) {
      const message = `${prefix.slice(0, 120)}… is nested more than ${MAX_PATH_DEPTH} folders deep; is there a link to a folder above it?`;
      throw new MeshError("invalid_argument", message);
    }
    for (const name of (await readdir(real)).toSorted(compareText)) {
      if (name.startsWith(".") || SKIPPED.has(name)) continue;
      await this.#entry(join(real, name), `${prefix}${name}`);
    }
  }

  async #entry(location: string, path: string): Promise<void> {
    const real = await realpath(location).catch((thrown: unknown) => {
      throw new MeshError("invalid_argument", `${path} cannot be read: ${errorText(thrown)}`, { cause: thrown });
    });
    if (!real.startsWith(this.#root + sep)) {
      throw new MeshError("permission_denied", `${path} is a link that leaves the app directory; replace it by a copy`);
    }
    const facts = await stat(real);
    if (facts.isDirectory()) return this.folder(real, `${path}/`);
    if (!facts.isFile())
      throw new MeshError("invalid_argument", `${path} is not a regular file; move it out of the app`);
    // Some file systems spell accents in two characters; one app must have one digest.
    const normal = path.normalize("NFC");
    if (this.#isForeign(normal, facts.size)) return;
    requireSafePath(normal);
    this.#budget.add(normal, facts.size);
    this.files.set(normal, new Uint8Array(await readFile(real)));
  }
}
