import { describe, expect, test } from "vitest";

import { cleanName, readPart } from "./part.ts";

describe("an attachment is read in every form that programs write it", () => {
  const forms: readonly (readonly [string, object, object])[] = [
    ["Chat Completions", { type: "image_url", image_url: { url: "u", detail: "low" } }, { sense: "image", url: "u" }],
    ["its short form", { type: "image_url", image_url: "u" }, { sense: "image", url: "u" }],
    ["evals", { type: "image", source: "file://a.png" }, { sense: "image", url: "file://a.png" }],
    ["a plain address", { type: "image", url: "u", name: "n" }, { sense: "image", url: "u", name: "n" }],
    [
      "Messages",
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } },
      { sense: "image", url: "data:image/png;base64,AA" },
    ],
    ["MCP", { type: "image", data: "AA", mimeType: "image/gif" }, { sense: "image", url: "data:image/gif;base64,AA" }],
    [
      "sound",
      { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
      { sense: "audio", url: "data:audio/wav;base64,AA" },
    ],
    [
      "sound of evals",
      { type: "audio", data: "AA", format: "mp3" },
      { sense: "audio", url: "data:audio/mp3;base64,AA" },
    ],
    [
      "a file",
      { type: "file", file: { url: "__yao.attachment://1", filename: "f.pdf" } },
      { sense: "file", url: "__yao.attachment://1", name: "f.pdf" },
    ],
    [
      "an inline file",
      { type: "file", file: { file_data: "data:text/plain;base64,AA", filename: "f" } },
      { sense: "file", url: "data:text/plain;base64,AA", name: "f" },
    ],
    ["an upload", { type: "file", file: { file_id: "id1" } }, { sense: "file", url: "__yao.attachment://id1" }],
    ["nothing at all", { type: "file" }, { sense: "file", url: "" }],
    ["nonsense", { type: "image_url", image_url: 7, url: [], data: {} }, { sense: "image", url: "" }],
  ];
  test.each(forms)("%s", (_name, part, attachment) => {
    expect(readPart(part as never)).toEqual({ kind: "attachment", attachment });
  });
});

test("a media type that could break out of its data URI is left out", () => {
  const part = { type: "image", data: "AA", mimeType: "image/png;base64,BB," };
  expect(readPart(part)).toMatchObject({ attachment: { url: "data:;base64,AA" } });
});

test("texts are texts under any name, data is data, the rest is named", () => {
  expect(readPart("plain")).toEqual({ kind: "text", text: "plain" });
  expect(readPart({ type: "output_text", text: "t" })).toEqual({ kind: "text", text: "t" });
  expect(readPart({ type: "data", data: { sources: [] } })).toEqual({ kind: "data", value: { sources: [] } });
  expect(readPart({ type: "video\n]", video: 1 })).toEqual({ kind: "unknown", type: "video " });
  expect(readPart({ type: "constructor" })).toEqual({ kind: "unknown", type: "constructor" });
  expect(readPart(null)).toEqual({ kind: "unknown", type: "null" });
  expect(readPart(7)).toEqual({ kind: "unknown", type: "number" });
});

test("a name stays on its line and within its bounds", () => {
  expect(cleanName("a\nb]\u2028[c")).toBe("a b c");
  expect(cleanName("x".repeat(1_000))).toHaveLength(120);
});
