import { expect, test } from "vitest";

import type { OutputMessage } from "./message.ts";
import { OutputQueue } from "./output-queue.ts";

function text(content: string): OutputMessage {
  return { type: "text", props: { content } };
}

test("Q1 Q4 messages are taken in order, those before the end as well, and none after it", async () => {
  const taken: unknown[] = [];
  const queue = new OutputQueue(async ({ props }) => {
    await Promise.resolve();
    taken.push(props["content"]);
  });
  queue.push(text("one"));
  queue.push(text("two"));
  const ended = queue.end();
  queue.push(text("late"));
  await ended;
  queue.push(text("later"));
  await queue.drained();
  expect(taken).toEqual(["one", "two"]);
});

test("Q2 a slow reader of one text gets longer pieces, not more of them", async () => {
  const taken: OutputMessage[] = [];
  let go = (): void => undefined;
  const ready = new Promise<void>((resolve) => (go = resolve));
  const queue = new OutputQueue(async (message) => {
    await ready;
    taken.push(message);
  });
  for (let n = 0; n < 10_000; n += 1) queue.push({ ...text("x"), delta: true, message_id: "M1" });
  go();
  await queue.drained();
  expect(taken.length).toBeLessThan(100);
  expect(taken.map(({ props }) => props["content"] as string).join("")).toBe("x".repeat(10_000));
});

test("Q3 what a reader throws is told to who waits for it, and nothing more is taken", async () => {
  let count = 0;
  const queue = new OutputQueue(() => {
    count += 1;
    throw new Error("gone");
  });
  queue.push(text("one"));
  await expect(queue.drained()).rejects.toThrow("gone");
  queue.push(text("two"));
  await expect(queue.end()).rejects.toThrow("gone");
  expect(count).toBe(1);
});
