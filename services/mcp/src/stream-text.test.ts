import fc from "fast-check";
import { expect, test } from "vitest";

import { LineBuffer } from "./line-buffer.ts";
import { StderrTail } from "./stderr-tail.ts";

test("lines come out whole wherever the stream was cut", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[^\n]*$/)), fc.integer({ min: 1, max: 7 }), (lines, size) => {
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
      const buffer = new LineBuffer(10_000);
      const out: string[] = [];
      for (let at = 0; at < bytes.length; at += size) out.push(...buffer.push(bytes.subarray(at, at + size)));
      expect(out).toEqual(lines.map((line) => Buffer.from(line).toString("utf8")));
    }),
  );
});

test("a line without an end is refused", () => {
  const buffer = new LineBuffer(100);
  buffer.push(Buffer.alloc(90, "a"));
  expect(() => buffer.push(Buffer.alloc(20, "a"))).toThrow(/longer than 100 bytes/);
});

test("a tail keeps the last lines, without colours and control characters", () => {
  const tail = new StderrTail();
  for (let index = 0; index < 10_000; index += 1) tail.push(`line ${index}\n`);
  tail.push("\u001B[31mred\u001B[0m\u0007\r\n");
  tail.push(`${"x".repeat(1_000_000)}\n`);
  const lines = tail.lines();
  expect(lines.length).toBeLessThanOrEqual(12);
  expect(lines.at(-1)).toHaveLength(301);
  const short = new StderrTail();
  short.push("a\n\u001B[31mred\u001B[0m\u0007\r\n");
  expect(short.lines()).toEqual(["a", "red"]);
});
