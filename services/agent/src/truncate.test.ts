import fc from "fast-check";
import type { ImageContent } from "@mesh/llm";
import { describe, expect, test } from "vitest";

import { MemoryBackend, SharedState } from "./shared-state.ts";
import { byteLength, capContent, capText, cutContent, sliceBytes } from "./truncate.ts";

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}`).join("\n");

describe("cutting text", () => {
  test("keeps what fits, and head and tail of what does not, in exactly the allowed lines", () => {
    const cap = { maxLines: 200, maxBytes: Infinity };
    expect(capText(lines(200), cap)).toBe(lines(200));
    const cut = capText(lines(1000), cap);
    expect(cut.split("\n")).toHaveLength(200);
    expect(cut).toContain("801 lines left out");
    expect(cut.startsWith("line 0\n")).toBe(true);
    expect(cut.endsWith("line 999")).toBe(true);
  });

  test("C1: stays within lines and bytes, splits no character, and cutting again changes nothing", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 300 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 3000 }),
        (parts, maxLines, maxBytes) => {
          const cap = { maxLines, maxBytes };
          const cut = capText(parts.join("\n"), cap);
          expect(cut.split("\n").length).toBeLessThanOrEqual(maxLines);
          expect(byteLength(cut)).toBeLessThanOrEqual(maxBytes);
          expect(() => encodeURIComponent(cut)).not.toThrow();
          expect(capText(cut, cap)).toBe(cut);
        },
      ),
    );
  });

  test("counts bytes as UTF-8 does", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(byteLength(text)).toBe(Buffer.byteLength(text));
        expect(Buffer.byteLength(sliceBytes(text, 7))).toBeLessThanOrEqual(7);
      }),
    );
  });

  test("with few lines there is only the head, without a marker", () => {
    expect(capText(lines(10), { maxLines: 3, maxBytes: Infinity })).toBe("line 0\nline 1\nline 2");
  });

  test("one endless line is cut by bytes", () => {
    expect(byteLength(capText("x".repeat(10_000_000), { maxLines: 200, maxBytes: 1000 }))).toBeLessThanOrEqual(1000);
  });
});

describe("keeping what was cut", () => {
  const cap = { maxLines: 10, maxBytes: Infinity };
  const content = [
    { type: "text", text: lines(100) },
    { type: "image", data: "", mimeType: "image/png" },
    { type: "text", text: "short" },
    { type: "text", text: lines(50) },
  ] as const;

  test("each cut text has a key of its own, by its place in the content", async () => {
    const store = new SharedState();
    const capped = await capContent(content, cap, { store, callId: "c" });
    const keys = await store.keys();
    expect(keys.map((key) => key.slice(-3))).toEqual(["-b0", "-b3"]);
    expect(await store.get(keys[1]!)).toBe(lines(50));
    for (const [index, key] of [[0, keys[0]!] as const, [3, keys[1]!] as const]) {
      expect(JSON.stringify(capped[index])).toContain(key);
    }
    expect(capped[2]).toBe(content[2]);
  });

  test("when storing one evicted its sibling, none is kept and the markers name no key", async () => {
    const store = new SharedState(new MemoryBackend(1000));
    const capped = await capContent(content, cap, { store, callId: "c" });
    expect(await store.keys()).toEqual([]);
    expect(JSON.stringify(capped)).not.toContain("shared_state");
    expect(JSON.stringify(capped)).toContain("left out");
  });

  test("a store that fails costs the key, not the result", async () => {
    const store = {
      put: () => Promise.reject(new Error("down")),
      remove: () => Promise.reject(new Error("down")),
      has: () => Promise.resolve(false),
    };
    expect(JSON.stringify(await capContent(content, cap, { store, callId: "c" }))).toContain("left out");
  });

  test("images alone stash nothing", async () => {
    const store = new SharedState();
    const images = [{ type: "image", data: "x".repeat(100), mimeType: "image/png" }] as const;
    expect(await capContent(images, cap, { store, callId: "c" })).toBe(images);
    expect(await store.keys()).toEqual([]);
  });
});

describe("C4: images", () => {
  const image = (bytes: number): ImageContent => ({
    type: "image",
    data: "A".repeat(Math.ceil(bytes / 3) * 4),
    mimeType: "",
  });
  const cap = { maxLines: 10, maxBytes: 1000 };

  test("as many as the cap allows stay, in their order; a text says how many did not", async () => {
    const content = [image(3), { type: "text", text: "shot" } as const, ...Array.from({ length: 4 }, () => image(6))];
    const capped = cutContent(content, { ...cap, maxImages: 3 });
    expect(capped.slice(0, -1)).toEqual(content.slice(0, 4));
    expect(capped.at(-1)).toMatchObject({ type: "text", text: expect.stringContaining("2 of 5 images left out") });
    expect(cutContent(capped, { ...cap, maxImages: 3 })).toBe(capped);
  });

  test("their bytes are bounded together, also for a cap that names no bound", async () => {
    const big = image(9_000_000);
    const capped = cutContent([big, big, big], { maxLines: Infinity, maxBytes: Infinity });
    expect(capped.map((part) => part.type)).toEqual(["image", "image", "text"]);
    const [one] = cutContent([image(30_000_000)], cap);
    expect(one).toMatchObject({ type: "text", text: expect.stringContaining("1 of 1 images left out") });
  });

  test("that fit leave the content as it is", async () => {
    const content = [image(3), image(3)];
    expect(cutContent(content, cap)).toBe(content);
  });
});
