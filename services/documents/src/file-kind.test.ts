import { expect, test } from "vitest";

import { archive, docxFile, pdfFile, PNG, pptxFile, WAV } from "./testing/index.ts";
import { kindOf } from "./file-kind.ts";

const bytesOf = (text: string): Uint8Array => Buffer.from(text, "latin1");

function kind(bytes: Uint8Array, name = "", mimeType = ""): unknown {
  return kindOf({ bytes, name, mimeType });
}

test("the bytes say what a file is, whatever its name and its type claim", () => {
  expect(kind(PNG, "a.txt", "text/plain")).toEqual({ kind: "image", mimeType: "image/png" });
  expect(kind(bytesOf("\xff\xd8\xff\xe0"), "a.png", "image/png")).toEqual({ kind: "image", mimeType: "image/jpeg" });
  expect(kind(bytesOf("GIF89a"))).toEqual({ kind: "image", mimeType: "image/gif" });
  expect(kind(bytesOf("RIFF\0\0\0\0WEBPVP8 "))).toEqual({ kind: "image", mimeType: "image/webp" });
  expect(kind(WAV)).toEqual({ kind: "audio", mimeType: "audio/wav" });
  expect(kind(bytesOf("ID3\x04"))).toEqual({ kind: "audio", mimeType: "audio/mpeg" });
  expect(kind(pdfFile(["x"]), "a.txt")).toEqual({ kind: "pdf" });
  expect(kind(docxFile(""), "a.zip")).toEqual({ kind: "docx" });
  expect(kind(pptxFile(["x"]))).toEqual({ kind: "pptx" });
  expect(kind(archive({ a: "b" }), "a.docx")).toEqual({ kind: "other", what: "an archive" });
});

test("sound without a head of its own is known by what it claims to be", () => {
  const noise = bytesOf("\xff\xfb\x90\x00");
  expect(kind(noise, "a.mp3")).toEqual({ kind: "audio", mimeType: "audio/mpeg" });
  expect(kind(noise, "", "audio/mp3")).toEqual({ kind: "audio", mimeType: "audio/mp3" });
  expect(kind(noise, "")).toEqual({ kind: "other", what: "of an unknown type" });
});

test("text is what can be read as text, code has a language by its name", () => {
  expect(kind(bytesOf("hi"), "LICENSE")).toEqual({ kind: "text", text: "hi" });
  expect(kind(bytesOf("x = 1"), "A.PY")).toEqual({ kind: "text", text: "x = 1", language: "python" });
  expect(kind(bytesOf("<svg/>"), "a.svg", "image/svg+xml")).toMatchObject({ kind: "text", language: "xml" });
  expect(kind(bytesOf("\xff\xfeh\0i\0"), "a.txt")).toEqual({ kind: "text", text: "hi" });
  expect(kind(bytesOf("a\0b"), "a.txt")).toEqual({ kind: "other", what: "of an unknown type" });
  expect(kind(bytesOf("BM\x9a\xff"), "a.bmp", "image/bmp")).toEqual({
    kind: "other",
    what: "an image of the type image/bmp",
  });
});
