/**
 * The hosts of the evals that a runner works on: made with the first batch of an eval, kept for the next ones.
 *
 * K1  A host is that of one eval, one bundle, and one set of connectors and variables: what changed is not used on.
 * K2  At most `MAX_HOSTS` are kept without work, each for `IDLE_MS` at most; what one has started and written ends with it.
 * K3  A host whose batch was stopped is ended with it, unless another batch works on it.
 */

import { rmSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { type App, type AppFiles, loadApp, readBundle } from "@mesh/assistants";
import { type CancelTimer, type Clock, errorText } from "@mesh/kernel";

import { withBuiltInAgents } from "../local/built-in-agent.ts";
import { LocalHost, type LocalHostOptions } from "../local/local-host.ts";

/** What hosts are kept with. */
export interface EvalHostsDeps {
  readonly clock: Clock;
  /** A folder of this runner alone; made when it is needed, removed at the end. */
  readonly dir: string;
  /** Hears what could not be cleaned up. */
  readonly log: (text: string) => void;
}

/** What one host is made of. */
export interface HostRecipe extends Omit<LocalHostOptions, "app" | "clock" | "dir"> {
  /** Equal for batches that may share a host. */
  readonly key: string;
  readonly bundle: () => Promise<Uint8Array>;
}

/** A host in use; `release` must be called once, with true when nobody will want it again. */
export interface HostLease {
  readonly host: LocalHost;
  /** What `file://` in cases is relative to. */
  readonly baseDir: string;
  readonly release: (isOver: boolean) => Promise<void>;
}

interface OpenHost {
  readonly host: LocalHost;
  readonly dir: string;
  readonly baseDir: string;
}

interface Kept {
  readonly opened: Promise<OpenHost>;
  open: OpenHost | undefined;
  users: number;
  cancelIdle: CancelTimer | undefined;
}

const MAX_HOSTS = 4;
const IDLE_MS = 60_000;
const FIXTURES = "evals/files/";

/** See the file comment. */
export class EvalHosts implements AsyncDisposable {
  readonly #deps: EvalHostsDeps;
  readonly #kept = new Map<string, Kept>();
  #made = 0;

  constructor(deps: EvalHostsDeps) {
    this.#deps = deps;
  }

  /** How many there are. */
  get size(): number {
    return this.#kept.size;
  }

  /** The host of this recipe, made if need be. */
  async lease(recipe: HostRecipe): Promise<HostLease> {
    const kept = this.#kept.get(recipe.key) ?? this.#make(recipe);
    // Deleted first so that the newest is last.
    this.#kept.delete(recipe.key);
    this.#kept.set(recipe.key, kept);
    kept.users += 1;
    kept.cancelIdle?.();
    kept.cancelIdle = undefined;
    try {
      const { host, baseDir } = await kept.opened;
      return { host, baseDir, release: (isOver) => this.#release(recipe.key, kept, isOver) };
    } catch (error) {
      await this.#release(recipe.key, kept, true);
      throw error;
    }
  }

  /** Ends everything at once: for a process that cannot wait. */
  kill(): void {
    for (const { open } of this.#kept.values()) open?.host.kill();
    rmSync(this.#deps.dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#kept].map(([key, kept]) => this.#end(key, kept)));
    await rm(this.#deps.dir, { recursive: true, force: true });
  }

  #make(recipe: HostRecipe): Kept {
    this.#made += 1;
    const kept: Kept = {
      opened: openHost(recipe, { clock: this.#deps.clock, dir: join(this.#deps.dir, `${this.#made}`) }),
      open: undefined,
      users: 0,
      cancelIdle: undefined,
    };
    kept.opened.then((open) => void (kept.open = open)).catch(() => undefined);
    return kept;
  }

  async #release(key: string, kept: Kept, isOver: boolean): Promise<void> {
    kept.users -= 1;
    if (kept.users > 0) return;
    if (isOver) {
      await this.#end(key, kept);
      return;
    }
    kept.cancelIdle = this.#deps.clock.after(IDLE_MS, () => void this.#end(key, kept));
    const idle = [...this.#kept].filter(([, { users }]) => users === 0);
    for (const [oldest, host] of idle.slice(0, Math.max(0, idle.length - MAX_HOSTS))) await this.#end(oldest, host);
  }

  async #end(key: string, kept: Kept): Promise<void> {
    kept.cancelIdle?.();
    if (this.#kept.get(key) === kept) this.#kept.delete(key);
    // One that could not be opened has nothing to end.
    const open = await kept.opened.catch(() => undefined);
    if (open === undefined) return;
    try {
      await open.host[Symbol.asyncDispose]();
      await rm(open.dir, { recursive: true, force: true });
    } catch (error) {
      this.#deps.log(`a host of an eval was not cleaned up: ${errorText(error)}`);
    }
  }
}

async function openHost(
  { key: _key, bundle, ...options }: HostRecipe,
  { clock, dir }: { readonly clock: Clock; readonly dir: string },
): Promise<OpenHost> {
  const files = readBundle(await bundle());
  const baseDir = join(dir, "files");
  await layOut(files, baseDir);
  // Files with errors are missing from it, as in a run: the coordinator refused them at the push.
  const app: App = loadApp(withBuiltInAgents(files)).app;
  return { host: new LocalHost({ ...options, app, clock, dir: join(dir, "work") }), dir, baseDir };
}

/** Writes the files that cases name where cases look for them; the paths of a bundle are safe. */
async function layOut(files: AppFiles, baseDir: string): Promise<void> {
  await mkdir(baseDir, { recursive: true, mode: 0o700 });
  for (const [path, bytes] of files) {
    if (!path.startsWith(FIXTURES)) continue;
    const target = join(baseDir, path.slice(FIXTURES.length));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, bytes);
  }
}
