import { afterAll, beforeAll, expect, test } from "vitest";

import { answerUnderKey, keyedCall } from "../gateway/idempotency.ts";
import { operationOf } from "../gateway/operations.ts";
import { createAnswerStore } from "./answer-store.ts";
import { refusal, startTenant, type Tenant } from "./testing/tenant.ts";

let tenant: Tenant;

beforeAll(async () => {
  tenant = await startTenant();
});

afterAll(() => tenant[Symbol.asyncDispose]());

const createToken = operationOf("tokens", "createToken");
const call = (key: string, input: unknown = { name: "a" }) => keyedCall(createToken, "tok_1", key, input);

test("J1 of a hundred calls at once one is carried out; the others are told to wait, or get its answer", async () => {
  const store = createAnswerStore(tenant.store, tenant.secretBox);
  let made = 0;
  const work = async (): Promise<string> => {
    made += 1;
    await tenant.store.sql`SELECT pg_sleep(0.05)`;
    return '{"secret":"shown once"}';
  };
  const results = await Promise.all(
    Array.from({ length: 100 }, () =>
      answerUnderKey(store, call("k1"), work).catch((error: unknown) => error as { readonly code: string }),
    ),
  );
  expect(made).toBe(1);
  expect(new Set(results.map((each) => ("text" in each ? each.text : each.code)))).toEqual(
    new Set(['{"secret":"shown once"}', "aborted"]),
  );
  expect(await answerUnderKey(store, call("k1"), work)).toEqual({ text: '{"secret":"shown once"}', isReplayed: true });
  const [row] = await tenant.store.sql`SELECT sealed_answer FROM http_idempotency WHERE key = 'k1'`;
  expect(Buffer.from(row?.["sealed_answer"] as Buffer).toString("latin1")).not.toContain("shown once");
});

test("J2 another request under the key is refused, also while the first one runs", async () => {
  const store = createAnswerStore(tenant.store, tenant.secretBox);
  const other = (): Promise<unknown> => answerUnderKey(store, call("k2", { name: "b" }), async () => "{}");
  await answerUnderKey(store, call("k2"), async () => {
    expect((await refusal(other())).code).toBe("already_exists");
    return "{}";
  });
  expect((await refusal(other())).code).toBe("already_exists");
  // The same key of another token or for another operation is another key.
  expect(await answerUnderKey(store, keyedCall(createToken, "tok_2", "k2", {}), async () => "1")).toMatchObject({
    text: "1",
  });
});

test("J3 a refused call leaves its key free, and that of a dead process is free after a minute", async () => {
  const store = createAnswerStore(tenant.store, tenant.secretBox);
  const failing = answerUnderKey(store, call("k3"), async () => {
    throw new Error("refused");
  });
  await expect(failing).rejects.toThrow("refused");
  expect(await answerUnderKey(store, call("k3"), async () => "2")).toEqual({ text: "2", isReplayed: false });
  expect(await store.claim(call("k4"))).toEqual({ kind: "first" });
  expect(await store.claim(call("k4"))).toEqual({ kind: "running" });
  await tenant.store.sql`UPDATE http_idempotency SET started_at = now() - interval '61 s' WHERE key = 'k4'`;
  expect(await store.claim(call("k4"))).toEqual({ kind: "first" });
});

test("a key that cannot be one is refused", () => {
  for (const key of ["", "a b", "x".repeat(256), "ü"]) expect(() => call(key)).toThrow("Idempotency-Key");
});
