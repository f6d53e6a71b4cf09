import * as fc from "fast-check";
import { expect, test } from "vitest";

import { linesOf } from "./http-line.ts";

async function read(parts: readonly Uint8Array[], maxLength: number = 1000): Promise<string[]> {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* parts;
  }
  const lines: string[] = [];
  for await (const line of linesOf(source(), maxLength)) lines.push(line);
  return lines;
}

test("characters and lines that were cut anywhere are put together", async () => {
  const bytes = Buffer.from("aé\r\nb€c\n\n😀\r\nd\r");
  expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(["aé", "b€c", "", "😀", "d"]);
});

test("the lines of a text do not depend on how it was cut", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.array(fc.nat(50)), async (text, cuts) => {
      const bytes = Buffer.from(text.replaceAll("a", "\n"));
      const edges = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
      const parts = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(await read(parts)).toEqual(await read([bytes]));
    }),
  );
});

test("an empty text has no lines, a text that ends with a line end no empty last one", async () => {
  expect(await read([])).toEqual([]);
  expect(await read([Buffer.from("a\n")])).toEqual(["a"]);
});

test("a line is refused as soon as it is too long, while its end is still to come", async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.from("xxxxxxxxxx");
  }
  await expect(linesOf(endless(), 100).next()).rejects.toMatchObject({ code: "resource_exhausted" });
});
