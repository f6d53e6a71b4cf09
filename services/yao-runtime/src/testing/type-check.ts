/** Type-checks pieces of text against this package, all in one run of the compiler. */

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** A piece of source. */
export interface Piece {
  /** File name without ending, unique. */
  readonly name: string;
  readonly source: string;
}

const COMPILER = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
const ENTRY = resolve(import.meta.dirname, "../index.ts");

/** Complaints by piece, as `TS2304: …`; pieces without any are left out. `strict` as the compiler's option. */
export async function typeCheck(
  pieces: readonly Piece[],
  strict: boolean,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const dir = await mkdtemp(join(tmpdir(), "yao-runtime-"));
  try {
    const options = {
      strict,
      noEmit: true,
      target: "es2023",
      lib: ["es2023"],
      types: [],
      module: "esnext",
      moduleResolution: "bundler",
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      paths: { "@yao/runtime": [ENTRY] },
    };
    await writeFile(
      join(dir, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, include: ["*.ts"], files: [ENTRY] }),
    );
    await Promise.all(pieces.map(({ name, source }) => writeFile(join(dir, `${name}.ts`), source)));
    return complaintsOf(await compile(dir));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function compile(dir: string): Promise<string> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [COMPILER, "-p", dir, "--pretty", "false"],
      { cwd: dir, maxBuffer: 1 << 26 },
      (_error, stdout) => done(stdout),
    );
  });
}

function complaintsOf(output: string): Map<string, string[]> {
  const complaints = new Map<string, string[]>();
  for (const line of output.split("\n")) {
    const match =
      /^([^\s(][^(]*?)(?:\.ts)?(?:\(\d+,\d+\))?: error (TS\d+: .*)$/.exec(line) ?? /^()error (TS\d+: .*)$/.exec(line);
    if (match === null) continue;
    const [, name = "", text = ""] = match;
    complaints.set(name, [...(complaints.get(name) ?? []), text]);
  }
  return complaints;
}
