import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, expect, test } from "vitest";

import { givenText } from "./given-text.ts";

const dir = mkdtempSync(join(tmpdir(), "yao-given-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
writeFileSync(join(dir, "ten"), "0123456789");
writeFileSync(join(dir, "big"), "x".repeat(64 * 1024 + 1));

const asked: number[] = [];
const cli = {
  terminal: {
    readAll: async (maxBytes: number): Promise<string> => {
      asked.push(maxBytes);
      return "of standard input";
    },
  },
} as unknown as Parameters<typeof givenText>[0];

test("a text is itself, a file or standard input", async () => {
  for (const text of ["hello", "@", "", "a @b"]) expect(await givenText(cli, text, 100)).toBe(text);
  expect(await givenText(cli, `@${join(dir, "ten")}`, 10)).toBe("0123456789");
  expect(await givenText(cli, "-", 123)).toBe("of standard input");
  expect(asked).toEqual([123]);
});

test("a file that is not there or too large is refused with what to do", async () => {
  await expect(givenText(cli, `@${join(dir, "none")}`, 10)).rejects.toMatchObject({
    code: "not_found",
    message: expect.stringMatching(/none cannot be read: .* — check the name after the @/),
  });
  await expect(givenText(cli, `@${dir}`, 1_000_000)).rejects.toMatchObject({ code: "not_found" });
  await expect(givenText(cli, `@${join(dir, "big")}`, 64 * 1024)).rejects.toMatchObject({
    code: "resource_exhausted",
    message: expect.stringContaining("big is larger than 64 KB — send a part of it"),
  });
  await expect(givenText(cli, `@${join(dir, "big")}`, 1024 * 1024)).resolves.toHaveLength(64 * 1024 + 1);
});
