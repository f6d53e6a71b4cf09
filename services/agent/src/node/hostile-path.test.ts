/** Paths that change while a tool works on them, and commands that hide behind harmless ones. */

import { existsSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { ROOT_ANCESTRY } from "../delegation.ts";
import type { ToolContext } from "../tool.ts";
import { writeAtomically } from "./atomic-write.ts";
import { bashTool } from "./bash.ts";
import { globMatcher } from "./file-walk.ts";
import { listFilesTool } from "./list-files.ts";
import { searchPlainly } from "./plain-search.ts";
import { readFileTool } from "./read-file.ts";
import { linesAt, ripgrepPath, type SearchQuery, searchWithRipgrep } from "./ripgrep.ts";
import { PathSandbox } from "./sandbox.ts";
import { searchTool } from "./search.ts";
import { writeFileTool } from "./write-file.ts";

let top = "";
beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), "hostile-")));
  await mkdir(join(top, "root", "dir"), { recursive: true });
  await mkdir(join(top, "outside"));
});
afterEach(() => rm(top, { recursive: true, force: true }));

const linux = test.runIf(process.platform === "linux");
const sandboxed = (): PathSandbox => new PathSandbox({ cwd: join(top, "root"), roots: ["."] });
const context = { signal: new AbortController().signal, delegation: ROOT_ANCESTRY } as unknown as ToolContext;

/** Puts a link to the outside in the place of a folder, or the folder back. */
async function swap(): Promise<void> {
  const [dir, kept] = [join(top, "root", "dir"), join(top, "root", "kept")];
  if (existsSync(kept)) {
    await rm(dir, { recursive: true, force: true });
    await rename(kept, dir);
  } else {
    await rename(dir, kept);
    await symlink(join(top, "outside"), dir);
  }
}

linux(
  "a folder that is a link whenever it is opened, and a folder whenever it is judged, lets nothing out",
  async () => {
    const sandbox = sandboxed();
    const path = await sandbox.resolve("dir/file");
    const judge = async (opened: string): Promise<void> => {
      await swap();
      await sandbox.assertStill(opened);
      await swap();
    };
    await swap();
    await expect(writeAtomically(path, "secret", judge)).rejects.toThrow("not a directory");
    await swap();
    // Held before it was swapped: what is written is in the folder that was held.
    await writeAtomically(path, "kept", async () =>
      (await lstat(join(top, "root", "dir"))).isDirectory() ? swap() : undefined,
    );
    expect(await readdir(join(top, "outside"))).toEqual([]);
    expect(await readFile(join(top, "root", "kept", "file"), "utf8")).toBe("kept");
  },
);

linux(
  "folders that are missing are made in the folder that was judged, not behind a link that took its place",
  async () => {
    const path = await sandboxed().resolve("dir/new/deep/file");
    await swap();
    await expect(writeAtomically(path, "secret", () => Promise.resolve())).rejects.toThrow("not a directory");
    expect(await readdir(join(top, "outside"))).toEqual([]);
    await swap();
    await writeAtomically(path, "kept", () => Promise.resolve());
    expect(await readFile(path, "utf8")).toBe("kept");
  },
);

linux("a folder that was moved out of the sandbox while it was held is not written to", async () => {
  const sandbox = sandboxed();
  const path = await sandbox.resolve("dir/file");
  let judged = 0;
  const judge = async (opened: string): Promise<void> => {
    await sandbox.assertStill(opened);
    judged += 1;
    if (judged === 1) await rename(join(top, "root", "dir"), join(top, "outside", "dir"));
  };
  await expect(writeAtomically(path, "secret", judge)).rejects.toThrow("outside");
  expect(await readdir(join(top, "outside", "dir"))).toEqual([]);
});

linux("a folder that became a link since it was judged is neither listed nor searched", async () => {
  const sandbox = sandboxed();
  const query: SearchQuery = {
    sandbox,
    pattern: "secret",
    folder: join(top, "root"),
    isCaseSensitive: true,
    maxResults: 10,
    timeoutMs: 10_000,
    clock: systemClock,
    signal: context.signal,
  };
  await mkdir(join(top, "outside", "inner"));
  await writeFile(join(top, "outside", "inner", "file"), "secret");
  const inner = join(top, "root", "dir", "inner");
  await swap();
  await expect(sandbox.readFolder(inner)).rejects.toThrow("outside");
  await expect(searchPlainly({ ...query, folder: inner })).rejects.toThrow("outside");
  await expect(searchWithRipgrep((await ripgrepPath()) as string, { ...query, folder: inner })).rejects.toThrow(
    "outside",
  );
  expect(await searchPlainly({ ...query, folder: join(top, "root", "dir"), file: "inner/file" })).toMatchObject({
    lines: [],
  });
  // What ripgrep itself saw behind the link is not shown.
  expect(await linesAt(query, [{ file: "dir/inner/file", line: 1 }])).toEqual([]);
  await swap();
});

linux("whatever swaps folders and links meanwhile, no tool shows or leaves anything outside", async () => {
  await writeFile(join(top, "outside", "treasure"), "secret line\n");
  await mkdir(join(top, "root", "dir", "deep"));
  await writeFile(join(top, "root", "dir", "own"), "own line\n");
  const sandbox = sandboxed();
  const files = { sandbox, clock: systemClock };
  const tools = [
    listFilesTool(files),
    searchTool({ ...files, useRipgrep: false }),
    searchTool(files),
    writeFileTool(files),
    readFileTool(files),
  ];
  const stop = { isOver: false };
  const swapping = (async () => {
    // A tool may make the folder anew in the moment in which there is none; the next swap puts that right.
    while (!stop.isOver) await swap().catch(() => undefined);
  })();
  const said: string[] = [];
  for (let round = 0; round < 40; round += 1) {
    const path = round % 2 === 0 ? "dir" : ".";
    const calls = [
      { path },
      { path, pattern: "line" },
      { path, pattern: "line" },
      { path: `dir/new${round}/file`, content: "x" },
    ];
    for (const [index, args] of [...calls, { path: "dir/treasure" }].entries()) {
      const output = await tools[index]
        ?.execute?.(args, context)
        .catch((error: unknown) => ({ content: [], details: String(error) }));
      said.push(JSON.stringify(output));
    }
  }
  stop.isOver = true;
  await swapping;
  expect(said.join("\n")).not.toContain("secret line");
  expect(said.filter((_output, index) => index % tools.length === 0).join("\n")).not.toContain("treasure");
  expect(said.some((text) => text.includes("own:1:own line"))).toBe(true);
  expect(await readdir(join(top, "outside"))).toEqual(["treasure"]);
});

test("a link in /proc leads where it leads, not where it stands", async () => {
  const sandbox = sandboxed();
  for (const path of ["/proc/self/root/etc/passwd", "/proc/self/environ", "dir/../../outside", "//etc/passwd"]) {
    await expect(sandbox.resolve(path)).rejects.toThrow("outside");
  }
});

test("a refused command does not pass behind a harmless one that looks like it", async () => {
  const tool = bashTool({ clock: systemClock, cwd: top, env: { PATH: process.env["PATH"] }, deny: ["echo /"] });
  const command = "echo /tmp/ordinary; echo / > mark";
  await expect(tool.execute?.({ command }, context)).rejects.toThrow("refused");
  expect(existsSync(join(top, "mark"))).toBe(false);
});

test("a glob that would hold the process for minutes on one long name is refused", () => {
  expect(() => globMatcher(`${"*a".repeat(5)}b`)).toThrow("too many stars");
  expect(globMatcher("**/*.test.{ts,js}")("src/deep/a.test.ts")).toBe(true);
});
