import fc from "fast-check";
import { expect, test } from "vitest";

import { SseParser } from "./sse.ts";

test("events come out the same however the stream is cut into pieces", () => {
  const text =
    ': ok\n\nid: 1\nevent: a\ndata: {"x":1}\n\nid: 2\r\ndata: first\r\ndata: second\r\n\r\n: hb\n\nid: 3\ndata: é中\n\n';
  const whole = new SseParser().push(text);
  expect(whole).toEqual([
    { id: "1", event: "a", data: '{"x":1}' },
    { id: "2", event: "", data: "first\nsecond" },
    { id: "3", event: "", data: "é中" },
  ]);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 })), (sizes) => {
      const parser = new SseParser();
      const events = [];
      let at = 0;
      for (const size of sizes) {
        events.push(...parser.push(text.slice(at, at + size)));
        at += size;
      }
      events.push(...parser.push(text.slice(at)));
      expect(events).toEqual(whole);
    }),
  );
});

test("an event that never ends is refused instead of filling the memory", () => {
  const parser = new SseParser();
  expect(() => {
    for (let n = 0; n < 10; n += 1) parser.push("x".repeat(1024 * 1024));
  }).toThrow("too large");
});
