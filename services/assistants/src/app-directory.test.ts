import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { readAppDirectory } from "./app-directory.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "app-directory-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(path: string, content: string | Uint8Array = "x"): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content);
}

test("an app's files are read with their bytes, sorted", async () => {
  put("app/b.bin", Uint8Array.of(0, 255));
  put("app/assistants/a/package.yao", "{}");
  const files = await readAppDirectory(join(dir, "app"));
  expect([...files]).toEqual([
    ["assistants/a/package.yao", new Uint8Array(Buffer.from("{}"))],
    ["b.bin", Uint8Array.of(0, 255)],
  ]);
});

test("what tools put beside an app is left out", async () => {
  for (const path of ["node_modules/x/i.js", ".git/HEAD", "a/dist/x.js", ".env", "a/.DS_Store", "a/kept"]) put(path);
  expect([...(await readAppDirectory(dir)).keys()]).toEqual(["a/kept"]);
});

test("a link inside the app is followed", async () => {
  put("a/one.md", "one");
  symlinkSync("one.md", join(dir, "a/two.md"));
  symlinkSync("a", join(dir, "b"));
  expect([...(await readAppDirectory(dir)).keys()]).toEqual(["a/one.md", "a/two.md", "b/one.md", "b/two.md"]);
});

test.each([
  ["an absolute path", "/etc/passwd"],
  ["a path above it", "../secret"],
  ["a sibling whose name starts the same", "../app-2/x"],
])("a link to %s is refused", async (_name, target) => {
  put("secret");
  put("app-2/x");
  put("app/a");
  symlinkSync(target, join(dir, "app/link"));
  await expect(readAppDirectory(join(dir, "app"))).rejects.toMatchObject({
    code: "permission_denied",
    message: "link is a link that leaves the app directory; replace it by a copy",
  });
});

test("a link to a folder above itself ends in an error", async () => {
  put("a/b/x");
  symlinkSync("..", join(dir, "a/b/up"));
  await expect(readAppDirectory(dir)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("is there a link to a folder above it?"),
  });
});

test("a link to nothing is named", async () => {
  symlinkSync("gone", join(dir, "link"));
  await expect(readAppDirectory(dir)).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("link cannot be read"),
  });
});

test("a socket is refused", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(dir, "s.sock"), resolve));
  try {
    await expect(readAppDirectory(dir)).rejects.toMatchObject({
      message: expect.stringContaining("s.sock is not a regular"),
    });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

test("a directory that does not exist and one that is a file are refused", async () => {
  put("file");
  await expect(readAppDirectory(join(dir, "none"))).rejects.toMatchObject({ code: "not_found" });
  await expect(readAppDirectory(join(dir, "file"))).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("is not a directory; give the directory that holds assistants/"),
  });
});

test("the bounds of an app hold", async () => {
  put("a", "12345");
  put("b", "12345");
  const limits = { maxFiles: 2, maxFileBytes: 5, maxTotalBytes: 10 };
  expect((await readAppDirectory(dir, { limits })).size).toBe(2);
  for (const narrower of [{ maxFiles: 1 }, { maxFileBytes: 4 }, { maxTotalBytes: 9 }]) {
    await expect(readAppDirectory(dir, { limits: { ...limits, ...narrower } })).rejects.toMatchObject({
      code: "resource_exhausted",
    });
  }
});

test("a name spelt in decomposed characters is composed", async () => {
  put("caf\u0065\u0301.md");
  expect([...(await readAppDirectory(dir)).keys()]).toEqual(["caf\u00e9.md"]);
});
