import { createPublicKey, verify } from "node:crypto";

import { expect, test } from "vitest";

import { makeVapidKeys, vapidHeader } from "./vapid.ts";

test("a request is signed for the service it goes to, for twelve hours, by the key that browsers know", () => {
  const keys = makeVapidKeys();
  const nowMs = Date.parse("2026-03-02T08:00:00Z");
  const header = vapidHeader(keys, { url: "https://push.example/a/secret", subject: "https://mesh.example", nowMs });
  const [, head = "", body = "", signature = "", k] = /^vapid t=([^.]+)\.([^.]+)\.([^,]+), k=(.+)$/.exec(header) ?? [];
  expect(k).toBe(keys.publicKey);
  const decode = (text: string): unknown => JSON.parse(Buffer.from(text, "base64url").toString());
  expect(decode(head)).toEqual({ typ: "JWT", alg: "ES256" });
  expect(decode(body)).toEqual({
    aud: "https://push.example",
    exp: nowMs / 1000 + 12 * 3600,
    sub: "https://mesh.example",
  });
  const point = Buffer.from(keys.publicKey, "base64url");
  const jwk = {
    kty: "EC",
    crv: "P-256",
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33).toString("base64url"),
  };
  const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  expect(verify("sha256", Buffer.from(`${head}x.${body}`), key, Buffer.from(signature, "base64url"))).toBe(false);
});
