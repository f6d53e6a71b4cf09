/**
 * Bundles a script of an app: its entry, the files it imports, nothing else, into one {@link ScriptProgram}.
 *
 * B1  Only what the reader gives is read; no disk, no packages, no Node modules, no `import()`.
 * B2  Equal files give equal digests. A bundle is reused only while every file looked at for it is unchanged.
 * B3  Errors name file and line of the user's source.
 */

import { createHash } from "node:crypto";

import type { BuildFailure, BuildOptions, BuildResult, Message, Plugin } from "esbuild";

import { MeshError } from "@mesh/kernel";

import type { ScriptProgram } from "../call.ts";
import { GUEST_GLOBALS } from "../guest-globals.ts";
import { appPath } from "./app-path.ts";
import { PROGRAM_HEAD, programText } from "./program-text.ts";
import { type AppReader, resolveImport } from "./resolve-import.ts";
import { type TopLevel, topLevelOf } from "./top-level.ts";

/** Bounds of a bundle. */
export interface ScriptBundlerOptions {
  readonly maxFiles?: number;
  readonly maxBytes?: number;
  /** Programs kept for reuse. */
  readonly maxCached?: number;
}

interface Cached {
  readonly program: ScriptProgram;
  /** Every path looked at, with the digest of what was there. */
  readonly seen: ReadonlyMap<string, string>;
}

const DEFAULTS = { maxFiles: 500, maxBytes: 8 * 1024 * 1024, maxCached: 256 } as const;
const SHOWN_ERRORS = 5;
const ABSENT = "";

/** Bundles scripts and remembers the bundles by the content of their files. */
export class ScriptBundler {
  readonly #options: Required<ScriptBundlerOptions>;
  /** Newest last; several entries of one path belong to different apps or versions. */
  readonly #cache = new Map<string, Cached>();

  constructor(options: ScriptBundlerOptions = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** The program of `entry`, a path in the app; throws `invalid_argument` with file, line and reason when it does not bundle. */
  async bundle(app: AppReader, entry: string): Promise<ScriptProgram> {
    const cached = this.#cached(app, entry);
    if (cached !== undefined) return cached;
    const source = new CountedSource(app, this.#options);
    const program = await bundleOf(source, entry);
    this.#remember(entry, { program, seen: source.seen });
    return program;
  }

  #cached(app: AppReader, entry: string): ScriptProgram | undefined {
    for (const [key, cached] of this.#cache) {
      if (cached.program.entry !== entry || !unchanged(cached.seen, app)) continue;
      this.#cache.delete(key);
      this.#cache.set(key, cached);
      return cached.program;
    }
    return undefined;
  }

  #remember(entry: string, cached: Cached): void {
    this.#cache.set(`${entry} ${digestOf([...cached.seen].flat().join("\n"))}`, cached);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > this.#options.maxCached && oldest !== undefined) this.#cache.delete(oldest);
  }
}

/** The app's files as one bundle sees them: counted, bounded, remembered. */
class CountedSource implements AppReader {
  readonly seen = new Map<string, string>();
  readonly #app: AppReader;
  readonly #limits: Required<ScriptBundlerOptions>;
  #files = 0;
  #bytes = 0;

  constructor(app: AppReader, limits: Required<ScriptBundlerOptions>) {
    this.#app = app;
    this.#limits = limits;
  }

  read(path: string): string | undefined {
    const text = this.#app.read(path);
    if (!this.seen.has(path)) {
      this.seen.set(path, text === undefined ? ABSENT : digestOf(text));
      if (text !== undefined) this.#count(path, text.length);
    }
    return text;
  }

  #count(path: string, bytes: number): void {
    this.#files += 1;
    this.#bytes += bytes;
    const { maxFiles, maxBytes } = this.#limits;
    if (this.#files > maxFiles) throw new Error(`${path}: a script may consist of at most ${maxFiles} files`);
    if (this.#bytes > maxBytes) throw new Error(`${path}: a script may have at most ${maxBytes} bytes of source`);
  }
}

async function bundleOf(source: CountedSource, entry: string): Promise<ScriptProgram> {
  const text = source.read(entry);
  if (text === undefined) throw new MeshError("not_found", `There is no script ${entry} in the app`);
  try {
    const top = await topLevelOf(text, entry);
    const { build } = await import("esbuild");
    const result = await build({ ...OPTIONS, entryPoints: [entry], plugins: [appFiles(source, entry, top)] });
    const { code, map, exports } = outputOf(result);
    const digest = digestOf(`${entry}\n${code}`);
    return { digest, entry, code, map, functions: exports.filter((name) => isFunction(name, top)) };
  } catch (error) {
    throw explained(error, entry);
  }
}

const OPTIONS = {
  bundle: true,
  write: false,
  outfile: "/program.js",
  absWorkingDir: "/",
  format: "esm",
  platform: "neutral",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  sourcemap: "external",
  sourcesContent: false,
  metafile: true,
  banner: { js: PROGRAM_HEAD },
  // A bundle runs as one script: what cannot be awaited or loaded there is an error here.
  supported: { "dynamic-import": false, "top-level-await": false },
  logOverride: { "unsupported-dynamic-import": "error", "unsupported-require-call": "error" },
  // No tsconfig of the machine takes part.
  tsconfigRaw: "{}",
  logLevel: "silent",
} as const satisfies BuildOptions;

function outputOf(result: BuildResult<typeof OPTIONS>): { code: string; map: string; exports: readonly string[] } {
  const [output] =
    Object.entries(result.metafile.outputs)
      .find(([name]) => name.endsWith(".js"))
      ?.slice(1) ?? [];
  const exports = typeof output === "object" ? output.exports : [];
  const file = (ending: string): string => result.outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? "";
  return { code: programText(file(".js"), exports.length), map: file(".map"), exports };
}

/** A name the entry passes on from elsewhere may be anything; it counts as a function. */
function isFunction(name: string, top: TopLevel): boolean {
  const local = top.aliases.get(name) ?? name;
  return !top.values.has(local) || top.functions.includes(local);
}

function appFiles(source: CountedSource, entry: string, top: TopLevel): Plugin {
  return {
    name: "app-files",
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
        if (kind === "entry-point") return { path, namespace: "app" };
        if (kind === "dynamic-import")
          return { errors: [{ text: "Scripts cannot use import(): use an import statement" }] };
        const resolved = resolveImport(path, importer, source);
        if (resolved.kind === "refused") return { errors: [{ text: resolved.reason }] };
        return resolved.kind === "runtime" ? { path, namespace: "runtime" } : { path: resolved.path, namespace: "app" };
      });
      build.onLoad({ filter: /.*/, namespace: "app" }, ({ path }) => ({
        contents: (source.read(path) ?? "") + (path === entry ? hiddenExports(top) : ""),
        loader: path.endsWith(".ts") ? "ts" : path.endsWith(".json") ? "json" : "js",
      }));
      // CommonJS, so that a name which is only a type in a JavaScript file is undefined instead of an error.
      build.onLoad({ filter: /.*/, namespace: "runtime" }, () => ({
        contents: `module.exports = { ${GUEST_GLOBALS.map((name) => `${name}: globalThis.${name}`).join(", ")} };`,
        loader: "js",
      }));
    },
  };
}

function hiddenExports(top: TopLevel): string {
  const hidden = [...new Set(top.functions)].filter((name) => !top.exported.has(name) && !hasAlias(name, top));
  return hidden.length === 0 ? "" : `\nexport { ${hidden.join(", ")} };\n`;
}

/** `export { other as Create }` takes the name `Create`, whatever else is called so. */
function hasAlias(name: string, top: TopLevel): boolean {
  return top.aliases.has(name);
}

function unchanged(seen: ReadonlyMap<string, string>, app: AppReader): boolean {
  for (const [path, digest] of seen) {
    const text = app.read(path);
    if ((text === undefined ? ABSENT : digestOf(text)) !== digest) return false;
  }
  return true;
}

function explained(error: unknown, entry: string): MeshError {
  if (error instanceof MeshError) return error;
  if (!isBuildFailure(error)) {
    return new MeshError(
      "invalid_argument",
      `${entry} does not bundle: ${error instanceof Error ? error.message : "unknown"}`,
    );
  }
  const lines = error.errors.slice(0, SHOWN_ERRORS).map(located);
  const more = error.errors.length - lines.length;
  const text = [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
  return new MeshError("invalid_argument", text === "" ? `${entry} does not bundle` : text, { details: { entry } });
}

function located({ text, location, detail }: Message): string {
  const reason = detail instanceof Error ? detail.message : text;
  return location === null ? reason : `${appPath(location.file)}:${location.line}:${location.column + 1} ${reason}`;
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && "errors" in error && Array.isArray(error.errors);
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
