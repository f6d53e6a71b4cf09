import { expect, test } from "vitest";

import { payloadOf, pushHeaders, pushRetryMs, testPayload } from "./push-message.ts";

const news = {
  kind: "needs_input",
  taskId: "task_01jabcdefghjkmnpqrstvwxyz0",
  number: 12,
  title: "Book",
  locale: "",
} as const;

test("a notification names the task and where it is, and cuts a long title between characters", () => {
  expect(payloadOf(news)).toEqual({
    kind: "needs_input",
    key: "T-12",
    title: "Book",
    url: "/task/task_01jabcdefghjkmnpqrstvwxyz0",
    tag: "task_01jabcdefghjkmnpqrstvwxyz0",
    locale: "",
  });
  expect(payloadOf({ ...news, title: `a${"🦡".repeat(500)}` }).title).toBe(`a${"🦡".repeat(99)}`);
});

test("a question is urgent, an outcome is not, and of a task a service keeps the newest", () => {
  expect(pushHeaders(payloadOf(news), 61_900)).toEqual({ ttl: "61", urgency: "high", topic: news.taskId });
  expect(news.taskId.length).toBeLessThanOrEqual(32);
  expect(pushHeaders(payloadOf({ ...news, kind: "done" }), -5)).toMatchObject({ ttl: "0", urgency: "normal" });
  expect(pushHeaders(testPayload("en"), 1000)).toEqual({ ttl: "1", urgency: "high" });
});

test("the waits between attempts grow, and end", () => {
  const waits = [1, 2, 3, 4, 5, 6].map((attempts) => pushRetryMs(attempts, 0.5) ?? 0);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect([waits[0], pushRetryMs(7, 0.5)]).toEqual([2000, undefined]);
});
