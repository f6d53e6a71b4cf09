import { expect, test } from "vitest";

import { filePath } from "./file-path.ts";

test.each([
  ["docs/a.md", "docs/a.md"],
  ["./docs//a.md", "docs/a.md"],
  ["docs/", "docs"],
  ["a..b/..c", "a..b/..c"],
  ["cafe\u0301.md", "caf\u00e9.md"],
  // Letters that look like dots mean no parent folder.
  ["\uff0e\uff0e/x", "\uff0e\uff0e/x"],
])("%j is %j", (given, path) => expect(filePath(given)).toBe(path));

test.each([
  ["../x", "outside"],
  ["docs/../../x", "outside"],
  ["a/..", "outside"],
  ["/etc/passwd", "outside"],
  ["~/x", "outside"],
  ["C:/Windows", "outside"],
  ["docs\\..\\x", "slashes"],
  ["\\\\host\\share", "slashes"],
  ["a\0b", "control"],
  ["a\nb", "control"],
  ["", "name a file"],
  [".", "name a file"],
  ["x".repeat(1_025), "1024"],
  [`a/${"é".repeat(128)}`, "255 bytes"],
])("%j is refused", (given, why) => {
  expect(() => filePath(given)).toThrow(why);
});

test("the directory itself may be named where that makes sense", () => {
  expect(["", "/", ".", "./"].map((path) => attempt(path))).toEqual(["", "refused", "", ""]);
});

function attempt(path: string): string {
  try {
    return filePath(path, { allowTop: true });
  } catch {
    return "refused";
  }
}
