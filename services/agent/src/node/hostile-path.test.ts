/** Paths that change while a tool works on them, and commands that hide behind harmless ones. */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { ROOT_ANCESTRY } from "../delegation.ts";
import type { ToolContext } from "../tool.ts";
import { writeAtomically } from "./atomic-write.ts";
import { bashTool } from "./bash.ts";
import { globMatcher } from "./file-walk.ts";
import { PathSandbox } from "./sandbox.ts";

let top = "";
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "hostile-")));
  await mkdir(join(top, "root", "dir"), { recursive: true });
  await mkdir(join(top, "outside"));
});
afterEach(() => rm(top, { recursive: true, force: true }));

test.runIf(process.platform === "linux")(
  "a folder that is a link whenever it is written to, and a folder whenever it is judged, lets nothing out",
  async () => {
    const [dir, kept, outside] = [join(top, "root", "dir"), join(top, "root", "kept"), join(top, "outside")];
    const sandbox = new PathSandbox({ cwd: join(top, "root"), roots: ["."] });
    const path = await sandbox.resolve("dir/file");
    const swap = async (): Promise<void> => {
      await rename(dir, kept);
      await symlink(outside, dir);
    };
    await swap();
    const judge = async (opened: string = path): Promise<void> => {
      await unlink(dir);
      await rename(kept, dir);
      await sandbox.assertStill(opened);
      await swap();
    };
    await expect(writeAtomically(path, "secret", judge)).rejects.toThrow("outside");
    expect(await readdir(outside)).toEqual([]);
  },
);

test("a link in /proc leads where it leads, not where it stands", async () => {
  const sandbox = new PathSandbox({ cwd: join(top, "root"), roots: ["."] });
  for (const path of ["/proc/self/root/etc/passwd", "/proc/self/environ", "dir/../../outside", "//etc/passwd"]) {
    await expect(sandbox.resolve(path)).rejects.toThrow("outside");
  }
});

test("a refused command does not pass behind a harmless one that looks like it", async () => {
  const tool = bashTool({ clock: systemClock, cwd: top, env: { PATH: process.env["PATH"] }, deny: ["echo /"] });
  const context = { signal: new AbortController().signal, delegation: ROOT_ANCESTRY } as unknown as ToolContext;
  const command = "echo /tmp/ordinary; echo / > mark";
  await expect(tool.execute?.({ command }, context)).rejects.toThrow("refused");
  expect(existsSync(join(top, "mark"))).toBe(false);
});

test("a glob that would hold the process for minutes on one long name is refused", () => {
  expect(() => globMatcher(`${"*a".repeat(5)}b`)).toThrow("too many stars");
  expect(globMatcher("**/*.test.{ts,js}")("src/deep/a.test.ts")).toBe(true);
});
