import { expect, test } from "vitest";

import { createSecretBox } from "./secret-box.ts";

const box = createSecretBox(Buffer.alloc(32, 1));

test("a secret opens in its context only, under its key only, and only untouched", () => {
  const sealed = box.seal("sk-ünïcode", "connector/ws/a");
  expect(box.open(sealed, "connector/ws/a")).toBe("sk-ünïcode");
  expect(() => box.open(sealed, "connector/ws/b")).toThrow(/cannot be opened/);
  expect(() => createSecretBox(Buffer.alloc(32, 2)).open(sealed, "connector/ws/a")).toThrow(/cannot be opened/);
  for (let i = 0; i < sealed.length; i += 1) {
    const touched = Buffer.from(sealed);
    touched[i] = (touched[i] ?? 0) ^ 1;
    expect(() => box.open(touched, "connector/ws/a")).toThrow(/cannot be opened/);
  }
  for (let length = 0; length < sealed.length; length += 1) {
    expect(() => box.open(sealed.subarray(0, length), "connector/ws/a")).toThrow(/cannot be opened/);
  }
});

test("the same secret is never sealed to the same bytes, and does not show", () => {
  const [a, b] = [box.seal("secret", "x"), box.seal("secret", "x")];
  expect(a.equals(b)).toBe(false);
  expect(a.toString("latin1")).not.toContain("secret");
});

test("a master key of another length is refused", () => {
  expect(() => createSecretBox(Buffer.alloc(16))).toThrow(/32 bytes/);
});
