import { EventStreamCodec } from "@smithy/eventstream-codec";
import fc from "fast-check";
import { expect, test } from "vitest";

import { crc32, decodeFrame, type EventFrame, EventFrameDecoder } from "./event-frame.ts";

const utf8 = new TextDecoder();
const BODY = "{'foo':'bar'}";

// Published vectors of the format.
const HEADER =
  "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1";
const PLAIN = "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936";

test.each([
  ["an empty message", "000000100000000005c248eb7d98c8ff", {}, ""],
  ["a payload without headers", PLAIN, {}, BODY],
  [
    "an int32 header",
    "0000002b0000000e348bec7b086576656e742d6964040000a00c7b27666f6f273a27626172277dd3890285",
    { "event-id": 40_972 },
    BODY,
  ],
  ["a text header", HEADER, { "content-type": "application/json" }, BODY],
])("the published vector of %s is read", (_what, hex, headers, payload) => {
  const frame = decodeFrame(fromHex(hex));
  expect(frame.headers).toEqual(headers);
  expect(utf8.decode(frame.payload)).toBe(payload);
});

test.each([
  ["headers", HEADER.replace("742d74", "742b74")],
  ["the headers' length", HEADER.replace("00000020", "00000120")],
  ["the length", PLAIN.replace(/^00/, "01")],
  ["the payload", PLAIN.replace("7227", "7228")],
])("the published vector with corrupt %s is refused", (_what, hex) => {
  expect(() => decodeFrame(fromHex(hex))).toThrow("corrupt frame");
});

test("a corrupt length is refused as soon as it is read, not waited for", () => {
  const bytes = fromHex(PLAIN);
  bytes[0] = 1;
  expect(() => new EventFrameDecoder().feed(bytes.subarray(0, 12))).toThrow("prelude checksum");
});

test("every kind of header that the reference codec writes is read, however the bytes are cut", () => {
  const codec = new EventStreamCodec(
    (bytes) => utf8.decode(bytes as Uint8Array),
    (text) => new TextEncoder().encode(text),
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          text: fc.string({ maxLength: 40 }),
          int: fc.integer(),
          flag: fc.boolean(),
          body: fc.uint8Array({ maxLength: 300 }),
        }),
        { maxLength: 5 },
      ),
      fc.integer({ min: 1, max: 50 }),
      (messages, size) => {
        const bytes = concat(
          messages.map(({ text, int, flag, body }) =>
            codec.encode({
              headers: {
                text: { type: "string", value: text },
                int: { type: "integer", value: int | 0 },
                short: { type: "short", value: -3 },
                byte: { type: "byte", value: -7 },
                flag: { type: "boolean", value: flag },
                bytes: { type: "binary", value: body },
                at: { type: "timestamp", value: new Date(1_700_000_000_000) },
                id: { type: "uuid", value: "01234567-89ab-cdef-0123-456789abcdef" },
              },
              body,
            }),
          ),
        );
        const decoder = new EventFrameDecoder();
        const frames: EventFrame[] = [];
        for (let from = 0; from < bytes.length; from += size)
          frames.push(...decoder.feed(bytes.slice(from, from + size)));
        expect(decoder.pending).toBe(0);
        expect(
          frames.map(({ payload, headers }) => ({
            ...headers,
            payload: [...payload],
            bytes: [...(headers["bytes"] as Uint8Array)],
          })),
        ).toEqual(
          messages.map(({ text, int, flag, body }) => ({
            text,
            int: int | 0,
            short: -3,
            byte: -7,
            flag,
            bytes: [...body],
            at: new Date(1_700_000_000_000),
            id: "01234567-89ab-cdef-0123-456789abcdef",
            payload: [...body],
          })),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("the checksum is the IEEE one", () => {
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
});

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
