/** Parsed apps of a runner, by bundle digest; the few used last are kept. */

import { readFile } from "node:fs/promises";

import { type App, loadApp, readBundle } from "@mesh/assistants";

const MAX_APPS = 8;

/** Loads apps from bundle files. */
export class AppCache {
  readonly #apps = new Map<string, Promise<App>>();

  /** The app of a bundle. Files with errors are missing from it: the coordinator refused them at the push. */
  async get(digest: string, path: string): Promise<App> {
    const app = this.#apps.get(digest) ?? load(path);
    // Deleted first so that the newest is last.
    this.#apps.delete(digest);
    this.#apps.set(digest, app);
    const oldest = this.#apps.keys().next();
    if (this.#apps.size > MAX_APPS && oldest.done === false) this.#apps.delete(oldest.value);
    try {
      return await app;
    } catch (error) {
      this.#apps.delete(digest);
      throw error;
    }
  }
}

async function load(path: string): Promise<App> {
  return loadApp(readBundle(await readFile(path))).app;
}
