import type { File } from "@mesh/proto";
import { expect, test } from "vitest";

import { crumbsOf, groupedOf, inside, nameOf, previewOf } from "./file-path.ts";

const file = (path: string, node: string, is_directory = false): File => ({
  path,
  is_directory,
  size_bytes: 1,
  hash: "",
  modified_at: "",
  node_id: node,
  node,
  online: true,
  media_type: "text/plain",
});

test("a path is taken apart and put together", () => {
  expect(crumbsOf("docs/2026/notes")).toEqual([
    { name: "docs", path: "docs" },
    { name: "2026", path: "docs/2026" },
    { name: "notes", path: "docs/2026/notes" },
  ]);
  expect([crumbsOf(""), inside("", "a"), inside("docs", "a"), nameOf("docs/a"), nameOf("a")]).toEqual([
    [],
    "a",
    "docs/a",
    "a",
    "a",
  ]);
});

test("a directory that several devices have is one entry, a file is one per device", () => {
  const { directories, files } = groupedOf([
    file("docs", "a", true),
    file("docs", "b", true),
    file("x.txt", "a"),
    file("x.txt", "b"),
  ]);
  expect(directories.map(({ path, on }) => [path, on.map(({ node }) => node)])).toEqual([["docs", ["a", "b"]]]);
  expect(files).toHaveLength(2);
});

test.each([
  ["a.md", "text/markdown", "markdown"],
  ["a.html", "text/html", "text"],
  ["a.png", "image/png", "image"],
  ["a.json", "application/json", "text"],
  ["Makefile.py", "application/octet-stream", "text"],
  ["a.bin", "application/octet-stream", "none"],
])("%s of type %s is shown as %s", (path, media_type, look) => {
  expect(previewOf({ path, media_type })).toBe(look);
});
