import { until } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { StreamMessage } from "./bus.ts";
import { redeliveryDelayMs, StreamQueue } from "./stream-queue.ts";

function message(id: string, log: string[], deliveryCount = 1): StreamMessage {
  return {
    subject: id,
    data: new Uint8Array(),
    deliveryCount,
    ack: () => log.push(`ack ${id}`),
    nak: (delayMs) => log.push(`nak ${id} ${delayMs}`),
    term: () => log.push(`term ${id}`),
  };
}

test("what arrives while the handler works is handed over together, up to the batch size", async () => {
  const queue = new StreamQueue(3);
  const log: string[] = [];
  const batches: number[] = [];
  const draining = queue.drain(
    async (batch) => {
      batches.push(batch.length);
      await until(() => log.length >= 0);
    },
    () => undefined,
  );
  for (let i = 0; i < 8; i += 1) await queue.put(message(String(i), log));
  await until(() => batches.reduce((sum, n) => sum + n, 0) === 8);
  queue.end();
  await draining;
  expect(Math.max(...batches)).toBe(3);
  expect(batches.length).toBeLessThanOrEqual(4);
});

test("C1: a full queue makes the feeder wait until the handler has taken a batch", async () => {
  const queue = new StreamQueue(2);
  const log: string[] = [];
  await queue.put(message("a", log));
  await queue.put(message("b", log));
  let hasRoom = false;
  const third = queue.put(message("c", log)).then(() => (hasRoom = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasRoom).toBe(false);
  const draining = queue.drain(
    async () => undefined,
    () => undefined,
  );
  await third;
  expect(hasRoom).toBe(true);
  queue.end();
  await draining;
});

test("a batch whose handler throws is delivered again, later each time", async () => {
  const queue = new StreamQueue(4);
  const log: string[] = [];
  const failures: unknown[] = [];
  await queue.put(message("a", log, 1));
  await queue.put(message("b", log, 3));
  const draining = queue.drain(
    async () => {
      throw new Error("no");
    },
    (error) => failures.push(error),
  );
  await until(() => failures.length === 1);
  queue.end();
  await draining;
  expect(log).toEqual(["nak a 1000", "nak b 15000"]);
  expect([0, 1, 2, 3, 4, 9].map(redeliveryDelayMs)).toEqual([1_000, 1_000, 5_000, 15_000, 30_000, 30_000]);
});

test("C3: what nobody handled is given back at once", async () => {
  const queue = new StreamQueue(2);
  const log: string[] = [];
  await queue.put(message("a", log));
  queue.end();
  await queue.put(message("b", log));
  await queue.drain(
    async () => undefined,
    () => undefined,
  );
  queue.giveBack();
  queue.giveBack();
  expect(log).toEqual(["nak b 0", "nak a 0"]);
});
