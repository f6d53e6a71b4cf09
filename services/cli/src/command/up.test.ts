import { spawnSync } from "node:child_process";

import { expect, test } from "vitest";

import { shellWord } from "./up.ts";

test.each(["/home/ana/.yao", "/tmp/a dir", "it's", '$HOME `x` "y" \\ &', "node '/a b/main.js'"])(
  "%s is one word for a shell",
  (text) => {
    expect(spawnSync("sh", ["-c", `printf %s ${shellWord(text)}`], { encoding: "utf8" }).stdout).toBe(text);
  },
);

test("a plain path stays as it is", () => {
  expect(shellWord("/home/ana/.yao")).toBe("/home/ana/.yao");
});
