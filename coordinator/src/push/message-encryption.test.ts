import { describe, expect, test } from "vitest";

import { encryptMessage, MAX_PLAIN_BYTES, requireTarget } from "./message-encryption.ts";

const target = {
  p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
};
const bytes = (text: string): Buffer => Buffer.from(text, "base64url");

test("a message is encrypted as the example of RFC 8291 is", () => {
  const secrets = {
    privateKey: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
    salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"),
  };
  const body = encryptMessage(Buffer.from("When I grow up, I want to be a watermelon"), target, secrets);
  expect(body.toString("base64url")).toBe(
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
  );
});

test("two messages share neither key nor salt", () => {
  const [first, second] = [encryptMessage(Buffer.of(1), target), encryptMessage(Buffer.of(1), target)];
  expect(first.subarray(0, 16).equals(second.subarray(0, 16))).toBe(false);
  expect(first.subarray(21, 86).equals(second.subarray(21, 86))).toBe(false);
});

test("a message above the one record of push services is refused", () => {
  expect(encryptMessage(Buffer.alloc(MAX_PLAIN_BYTES), target).length).toBeLessThan(4096);
  expect(() => encryptMessage(Buffer.alloc(MAX_PLAIN_BYTES + 1), target)).toThrow("at most 3000 bytes");
});

describe("what is no key of a browser is refused:", () => {
  test.each([
    ["no point of the curve", { ...target, p256dh: Buffer.alloc(65, 4).toString("base64url") }, "p256dh"],
    ["a compressed point", { ...target, p256dh: Buffer.alloc(33, 2).toString("base64url") }, "p256dh"],
    ["nothing", { ...target, p256dh: "" }, "p256dh"],
    ["a short secret", { ...target, auth: "BTBZ" }, "auth"],
  ])("%s", (_what, wrong, word) => {
    expect(() => requireTarget(wrong)).toThrow(word);
  });
});
