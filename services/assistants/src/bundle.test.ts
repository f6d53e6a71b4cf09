import { execFileSync } from "node:child_process";
import { gunzipSync, gzipSync } from "node:zlib";

import { MeshError } from "@mesh/kernel";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { pathFault } from "./app-path.ts";
import { bundleApp, bundleDigest, readBundle } from "./bundle.ts";
import { fitsTar, writeTar } from "./tar.ts";

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof MeshError) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  throw new Error("nothing was refused");
}

/** A bundle of entries that the writer would not make. */
function forged(...entries: [path: string, content: string][]): Uint8Array {
  return gzipSync(writeTar(entries.map(([path, content]) => ({ path, bytes: text(content) }))));
}

test("any files come back as they went in", () => {
  const part = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
  const path = fc
    .array(part, { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join("/"))
    .filter((candidate) => pathFault(candidate) === undefined && fitsTar(candidate));
  const files = fc.array(fc.tuple(path, fc.uint8Array({ maxLength: 2000 })), { maxLength: 20 });
  fc.assert(
    fc.property(files, (entries) => {
      const original = new Map(entries);
      const bundle = bundleApp(original);
      const back = readBundle(bundle.bytes);
      // Maps are equal whatever their order.
      expect(back).toEqual(original);
      expect(bundle).toMatchObject({ fileCount: original.size, sizeBytes: bundle.bytes.length });
      expect(bundle.digest).toBe(bundleDigest(bundle.bytes));
    }),
    { numRuns: 200 },
  );
});

test("B1: the order of the files and the time of day do not change the digest", () => {
  const one = bundleApp(new Map([["a", text("1")], ["b/c", text("2")]])); // prettier-ignore
  const other = bundleApp(new Map([["b/c", text("2")], ["a", text("1")]])); // prettier-ignore
  expect(one.digest).toBe(other.digest);
  // Pinned: nodes and coordinators of different versions must agree on it.
  expect(one.digest).toBe("bfc52f82228c1eb53230c1bab46552c09c20459c5653c516143315dbf0073a3a");
});

test("a changed byte or name changes the digest", () => {
  const digests = [
    bundleApp(new Map([["a", text("1")]])),
    bundleApp(new Map([["a", text("2")]])),
    bundleApp(new Map([["b", text("1")]])),
  ].map((bundle) => bundle.digest);
  expect(new Set(digests).size).toBe(3);
});

test("a bundle is an archive that tar itself lists", () => {
  const long = `${"d".repeat(90)}/${"e".repeat(90)}/f.md`;
  const bundle = bundleApp(new Map([["assistants/你好/package.yao", text("{}")], [long, text("x")]])); // prettier-ignore
  const listed = execFileSync("tar", ["-tzf", "-", "--quoting-style=literal"], {
    input: bundle.bytes,
    encoding: "utf8",
  });
  expect(listed.trim().split("\n")).toEqual(["assistants/你好/package.yao", long]);
});

test.each([
  ["/etc/passwd", "is absolute"],
  ["C:/x", "is absolute"],
  ["a/../../x", 'holds ".."'],
  ["a/./x", "holds an empty part"],
  ["a//x", "holds an empty part"],
  ["a\\x", "holds a backslash"],
  ["a\nx", "holds a control character"],
  ["", "is empty"],
])("the path %j is refused on both ways", (path, fault) => {
  const message = `the path ${JSON.stringify(path)} ${fault}; rename the file`;
  expect(refusal(() => readBundle(forged([path, "x"])))).toEqual({ code: "invalid_argument", message });
  expect(refusal(() => bundleApp(new Map([[path, text("x")]])))).toEqual({ code: "invalid_argument", message });
});

test("a path too long for the archive is refused when bundling", () => {
  expect(refusal(() => bundleApp(new Map([["x".repeat(150), text("x")]]))).message).toContain(
    "is too long: its last part may have 100 bytes",
  );
});

test("a file that occurs twice is refused", () => {
  expect(refusal(() => readBundle(forged(["a", "1"], ["a", "2"])))).toEqual({
    code: "invalid_argument",
    message: "the bundle holds a twice; push the app again",
  });
});

test("what is not a bundle is refused in words", () => {
  const good = bundleApp(new Map([["a", text("1")]])).bytes;
  const archive = gunzipSync(good);
  const notGzip = "this is not an app bundle: it is not gzip data, or it is damaged; push the app again";
  expect(refusal(() => readBundle(new Uint8Array())).message).toBe(notGzip);
  expect(refusal(() => readBundle(text("PK\u0003\u0004"))).message).toBe(notGzip);
  expect(refusal(() => readBundle(good.slice(0, -4))).message).toBe(notGzip);
  const flipped = good.slice();
  flipped[good.length - 6] = (flipped[good.length - 6] ?? 0) ^ 1;
  expect(refusal(() => readBundle(flipped)).message).toBe(notGzip);
  expect(refusal(() => readBundle(gzipSync(archive.subarray(0, 512)))).message).toContain("a is cut off");
  expect(refusal(() => readBundle(gzipSync(archive.subarray(0, 1024)))).message).toContain("ends in the middle");
  expect(refusal(() => readBundle(gzipSync(text("x".repeat(1024))))).message).toContain("checksum does not match");
});

test("links and devices in an archive are refused", () => {
  const archive = Buffer.from(writeTar([{ path: "a", bytes: new Uint8Array() }]));
  archive.write("2", 156, "latin1");
  // The checksum grows with the type byte.
  const sum = Number.parseInt(archive.toString("latin1", 148, 154), 8) + 2;
  archive.write(sum.toString(8).padStart(6, "0"), 148, "latin1");
  expect(refusal(() => readBundle(gzipSync(archive))).message).toContain("something that is not a regular file");
});

test("B2: the bounds of an app hold on both ways", () => {
  const limits = { maxFiles: 2, maxFileBytes: 10, maxTotalBytes: 15 };
  const tooMany = new Map(["a", "b", "c"].map((path) => [path, text("1")]));
  const tooLarge = new Map([["a", new Uint8Array(11)]]);
  const tooMuch = new Map([["a", new Uint8Array(8)], ["b", new Uint8Array(8)]]); // prettier-ignore
  const cases = [
    [tooMany, "the app has more than 2 files; move what it does not need out of it"],
    [tooLarge, "a has 11 bytes; a file of an app may have 10"],
    [tooMuch, "the app has more than 15 bytes in all; move large files out of it"],
  ] as const;
  for (const [files, message] of cases) {
    expect(refusal(() => bundleApp(files, limits))).toEqual({ code: "resource_exhausted", message });
    const { bytes } = bundleApp(files);
    expect(refusal(() => readBundle(bytes, limits))).toEqual({ code: "resource_exhausted", message });
  }
});

test("B2: a bundle that unpacks to gigabytes is refused without unpacking it", { timeout: 30_000 }, () => {
  const bomb = gzipSync(Buffer.alloc(256 * 1024 * 1024), { level: 9 });
  const before = process.memoryUsage().rss;
  expect(refusal(() => readBundle(bomb)).code).toBe("resource_exhausted");
  expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
});

test("no bytes make reading throw anything but a MeshError", () => {
  const archive = fc.uint8Array({ maxLength: 1600 }).map((bytes) => gzipSync(bytes));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), archive), (bytes) => {
      try {
        readBundle(bytes);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(MeshError);
      }
    }),
  );
});
