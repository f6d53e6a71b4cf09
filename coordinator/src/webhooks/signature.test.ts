import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";

import { newWebhookSecret, signatureHeaders } from "./signature.ts";

const timestampSeconds = Math.floor(Date.now() / 1000);
const message = { id: "msg_1", timestampSeconds, body: '{"type":"run.succeeded"}' };

test("the library of Standard Webhooks verifies what is signed, with either secret of a rotation", () => {
  const [old, present, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
  const headers = { ...signatureHeaders(message, [present, old]) };
  for (const secret of [old, present]) {
    expect(new Webhook(secret).verify(message.body, headers)).toEqual({ type: "run.succeeded" });
  }
  expect(() => new Webhook(other).verify(message.body, headers)).toThrow(/signature/i);
  expect(() => new Webhook(present).verify(`${message.body} `, headers)).toThrow(/signature/i);
});

test("a replay older than five minutes is refused by it", () => {
  const secret = newWebhookSecret();
  const old = { ...message, timestampSeconds: timestampSeconds - 301 };
  expect(() => new Webhook(secret).verify(old.body, { ...signatureHeaders(old, [secret]) })).toThrow(/too old/i);
});

test("a secret has the documented form and 32 random bytes", () => {
  expect(newWebhookSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newWebhookSecret()).not.toBe(newWebhookSecret());
});
