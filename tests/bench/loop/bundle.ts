/** A contender in one file with all that it imports, as it is shipped to where the time to start counts. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build } from "vite";

import { fileOf, LOOP_DIR } from "./contender.ts";

/** Bundles in a folder of its own; gone when disposed. */
export class Bundles {
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static async create(): Promise<Bundles> {
    return new Bundles(await mkdtemp(join(tmpdir(), "bench-loop-")));
  }

  /** Bundles a contender; the path of the file to import. What is imported later only stays a file of its own. */
  async add(name: string): Promise<string> {
    const outDir = join(this.#dir, name);
    await build({
      root: LOOP_DIR,
      configFile: false,
      logLevel: "error",
      ssr: { noExternal: true },
      build: { ssr: fileOf(name), outDir, minify: false, target: "node20" },
    });
    return join(outDir, `${name}.js`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.#dir, { recursive: true, force: true });
  }
}
