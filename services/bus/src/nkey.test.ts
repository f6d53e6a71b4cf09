import { expect, test } from "vitest";

import { createUserKey, isUserNkey, nkeyOfSeed, signWithSeed, verifyNkey } from "./nkey.ts";

const data = Buffer.from("yao-join:token");

test("a signature belongs to its key and its text, and to nothing else", () => {
  for (let i = 0; i < 20; i += 1) {
    const own = createUserKey();
    const signature = signWithSeed(own.seed, data);
    expect(nkeyOfSeed(own.seed)).toBe(own.nkey);
    expect(verifyNkey(own.nkey, data, signature)).toBe(true);
    expect(verifyNkey(createUserKey().nkey, data, signature)).toBe(false);
    expect(verifyNkey(own.nkey, Buffer.from("yao-join:other"), signature)).toBe(false);
    expect(verifyNkey(own.nkey, data, signature.with(0, (signature[0] ?? 0) ^ 1))).toBe(false);
  }
});

test("malformed keys and signatures are refused without an error", () => {
  const own = createUserKey();
  const mistyped = `${own.nkey.slice(0, -1)}${own.nkey.endsWith("A") ? "B" : "A"}`;
  expect(isUserNkey(mistyped)).toBe(false);
  for (const nkey of ["", "U", mistyped, own.nkey.toLowerCase(), "U".repeat(56)]) {
    expect(verifyNkey(nkey, data, signWithSeed(own.seed, data))).toBe(false);
  }
  for (const signature of [new Uint8Array(), new Uint8Array(63), new Uint8Array(64)]) {
    expect(verifyNkey(own.nkey, data, signature)).toBe(false);
  }
});
