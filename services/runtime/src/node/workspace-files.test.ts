import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { WorkspaceFiles } from "./workspace-files.ts";

let outer: string;
let dir: string;
let files: WorkspaceFiles;
const { signal } = new AbortController();
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

beforeEach(() => {
  outer = mkdtempSync(join(tmpdir(), "yao-files-"));
  dir = join(outer, "ws");
  files = new WorkspaceFiles({ clock: systemClock, dir, env: { PATH: process.env["PATH"], SHOWN: "yes" } });
});

afterEach(() => rmSync(outer, { recursive: true, force: true }));

test("files are written whole with their folders, read, listed, described, copied, renamed and removed", async () => {
  await files.write("a/b.bin", new Uint8Array([0, 255, 10]));
  await files.copy("a/b.bin", "c.bin");
  await files.rename("c.bin", "d/e.bin");
  expect([...(await files.read("/d/e.bin"))]).toEqual([0, 255, 10]);
  expect(await files.list(".")).toEqual([
    { name: "a", isDir: true, size: 0 },
    { name: "d", isDir: true, size: 0 },
  ]);
  expect(await files.list("a")).toEqual([{ name: "b.bin", isDir: false, size: 3 }]);
  expect(await files.stat("a/b.bin")).toMatchObject({ name: "b.bin", isDir: false, size: 3 });
  expect([await files.stat("nope"), await files.stat("a/b.bin/nope")]).toEqual([undefined, undefined]);
  await files.makeDir("x/y");
  await files.remove("x/y", { recursive: false });
  await expect(files.remove("d", { recursive: false })).rejects.toThrow("not empty; use RemoveAll");
  await files.remove("d", { recursive: true });
  expect(existsSync(join(dir, "d"))).toBe(false);
  await expect(files.read("d/e.bin")).rejects.toThrow("there is no such file in the workspace");
  await expect(files.read("a")).rejects.toThrow("is a folder");
});

describe("nothing outside of the folder is reached", () => {
  beforeEach(() => {
    mkdirSync(dir);
    writeFileSync(join(outer, "secret"), "secret");
    symlinkSync(outer, join(dir, "out"));
    symlinkSync(join(outer, "secret"), join(dir, "link"));
  });

  test.each(["../secret", "out/secret", "link", "a/../../secret", "out"])("%s", async (path) => {
    await expect(files.read(path)).rejects.toThrow("outside");
    await expect(files.write(path, text("x"))).rejects.toThrow("outside");
    await expect(files.stat(path)).rejects.toThrow("outside");
    await expect(files.list(path)).rejects.toThrow("outside");
    await expect(files.rename("x", path)).rejects.toThrow("outside");
    expect(readFileSync(join(outer, "secret"), "utf8")).toBe("secret");
  });

  test("a link is removed itself, never what it leads to", async () => {
    await files.remove("out", { recursive: true });
    await files.remove("link", { recursive: false });
    expect([existsSync(join(dir, "out")), existsSync(join(dir, "link"))]).toEqual([false, false]);
    expect(readFileSync(join(outer, "secret"), "utf8")).toBe("secret");
    await expect(files.remove("..", { recursive: true })).rejects.toThrow();
    await expect(files.remove(".", { recursive: true })).rejects.toThrow();
    expect(existsSync(dir)).toBe(true);
  });
});

test("a command runs in the folder with the environment it was given, and tells how it ended", async () => {
  const shown = await files.exec(["sh", "-c", "pwd; echo $SHOWN$HOME; echo no >&2; exit 3"], signal);
  expect(shown).toEqual({ stdout: `${dir}\nyes\n`, stderr: "no\n", exitCode: 3 });
  await expect(files.exec([], signal)).rejects.toThrow("Exec takes a program");
  await expect(files.exec(["no-such-program"], signal)).rejects.toThrow("could not start no-such-program");
});

test("a cancelled command ends with everything it started", async () => {
  const stop = new AbortController();
  const running = files.exec(["sh", "-c", "echo $$ > pid; sleep 100 & sleep 100"], stop.signal);
  await until(() => existsSync(join(dir, "pid")) && readFileSync(join(dir, "pid"), "utf8").endsWith("\n"));
  const pid = Number(readFileSync(join(dir, "pid"), "utf8"));
  stop.abort();
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  await until(() => !existsSync(`/proc/${pid}`));
});
