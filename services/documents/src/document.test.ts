import { MeshError, systemClock } from "@mesh/kernel";
import { strToU8, zipSync } from "fflate";
import { describe, expect, test } from "vitest";

import {
  chunkText,
  documentText,
  extractInThread,
  indexText,
  isDocumentPath,
  MAX_TEXT_BYTES,
  queryTerms,
  snippetOf,
} from "./index.ts";

const scope = { clock: systemClock, signal: new AbortController().signal };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const read = async (name: string, content: string | Uint8Array): Promise<string> =>
  (await documentText({ name, bytes: typeof content === "string" ? bytes(content) : content }, scope)).text;

describe("text of documents", () => {
  test("HTML is what a reader sees: headings, lines, nothing of scripts, comments and tags", async () => {
    const page = `<!doctype html><html><head><title>no</title><style>p{}</style></head><body><!-- no <p> -->
      <h1>Tea</h1><p>Hot&nbsp;&amp; <b>strong</b><br>water</p><script>if (a < b) alert("no")</script><ul><li>one<li>two</ul></body>`;
    expect(await read("a.html", page)).toBe("# Tea\n\nHot & strong\nwater\n\n- one\n- two");
  });

  test("a hostile page of open brackets is read in time that grows with its length", async () => {
    const page = "<p <!-- <scr".repeat(200_000);
    const startedMs = systemClock.monotonic();
    await read("a.html", page);
    expect(systemClock.monotonic() - startedMs).toBeLessThan(3_000);
  });

  test("a long text is cut at a whole character, and says so", async () => {
    const { text, isCut } = await documentText({ name: "a.txt", bytes: bytes("ä".repeat(MAX_TEXT_BYTES)) }, scope);
    expect([Buffer.byteLength(text), isCut, text.endsWith("ä")]).toEqual([MAX_TEXT_BYTES, true, true]);
  });

  test("marks of snippets and line ends of other systems do not survive", async () => {
    expect(await read("a.md", "a\r\nb\uE000c\uE001\rd")).toBe("a\nbc\nd");
  });

  test("what has no text fails with the reason", async () => {
    await expect(read("a.png", Buffer.from("89504e470d0a1a0a00", "hex"))).rejects.toThrow("an image");
    await expect(read("a.bin", new Uint8Array([0, 1, 2]))).rejects.toThrow("unknown type");
  });

  test("which files become documents", () => {
    const paths = ["docs/a.md", "docs/x/b.PDF", "docs/app.ts", "src/a.md", "docs/a.png", "docs/noext", "docs"];
    expect(paths.filter((path) => isDocumentPath(path))).toEqual(["docs/a.md", "docs/x/b.PDF", "docs/app.ts"]);
  });
});

describe("a thread of its own", () => {
  const office = zipSync({ "word/document.xml": strToU8("<w:p><w:t>Hello</w:t></w:p>") });

  test("reads what the caller would, and hands on its refusals", async () => {
    expect(await extractInThread({ name: "a.docx", bytes: office }, scope)).toEqual({ text: "Hello", isCut: false });
    await expect(extractInThread({ name: "a.docx", bytes: office.slice(0, 60) }, scope)).rejects.toThrow(MeshError);
  });

  test("ends when it takes too long", async () => {
    const slow = extractInThread({ name: "a.docx", bytes: office }, scope, { timeoutMs: 1 });
    await expect(slow).rejects.toMatchObject({ code: "deadline_exceeded" });
  });

  test("ends when its caller does not want it any more", async () => {
    const stop = new AbortController();
    const work = extractInThread({ name: "a.docx", bytes: office }, { clock: systemClock, signal: stop.signal });
    stop.abort();
    await expect(work).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("passages", () => {
  const text = [
    "# Tea",
    "",
    "First paragraph about water.",
    "",
    "## Green",
    "",
    ...Array.from({ length: 60 }, (_, n) => `Sentence ${n} about green tea and nothing else at all.\n`),
    "## Black",
    "",
    "Short.",
  ].join("\n");

  test("know their lines and headings; together they hold every line", () => {
    const chunks = chunkText(text);
    const lines = text.split("\n");
    for (const chunk of chunks) {
      expect(chunk.text).toBe(lines.slice(chunk.lineFrom - 1, chunk.lineTo).join("\n"));
      expect(chunk.text.length).toBeLessThanOrEqual(1_600 + 200 + 2);
    }
    const held = new Set(chunks.flatMap(({ lineFrom, lineTo }) => range(lineFrom, lineTo)));
    expect(lines.filter((line, index) => line.trim() !== "" && !held.has(index + 1))).toEqual([]);
    expect([chunks[0]?.heading, chunks.at(-1)?.heading]).toEqual(["Tea", "Tea › Black"]);
  });

  test("neighbours overlap; a long section of its own begins at its heading", () => {
    const chunks = chunkText(text);
    expect((chunks[1]?.lineFrom ?? 0) <= (chunks[0]?.lineTo ?? 0)).toBe(true);
    const sections = chunkText(`# A\n${"word ".repeat(100)}\n\n# B\n${"more ".repeat(100)}`);
    expect(sections.map(({ heading, lineFrom }) => [heading, lineFrom])).toEqual([
      ["A", 1],
      ["B", 4],
    ]);
  });

  test("headings stand above what is below them, whatever levels are left out", () => {
    const body = "word ".repeat(60);
    const chunks = chunkText(`### Deep\n${body}\n# Top\n${body}\n### Low\n${body}\n## Mid\n${body}`);
    expect(chunks.map(({ heading }) => heading)).toEqual(["Deep", "Top", "Top › Low", "Top › Mid"]);
  });

  test("a heading inside of a fenced block is none; a line without end is cut", () => {
    expect(chunkText("```\n# no\n```\ntext")[0]?.heading).toBe("");
    const chunks = chunkText("x".repeat(5_000));
    expect([chunks.length > 2, chunks.every(({ lineFrom, lineTo }) => lineFrom === 1 && lineTo === 1)]).toEqual([
      true,
      true,
    ]);
    expect(chunkText(" \n\n")).toEqual([]);
  });
});

describe("words", () => {
  test("unspaced scripts become pairs, in texts as in queries", () => {
    expect(indexText("Tea, 绿茶很好: don't/ok")).toBe("tea 绿茶 茶很 很好 好 don t ok");
    expect(queryTerms("What is the 绿茶 Tea")).toEqual([
      { kind: "pairs", pairs: ["绿茶"], text: "绿茶" },
      { kind: "word", word: "tea" },
    ]);
    expect(queryTerms("who is it").length).toBe(3);
    expect(queryTerms("?! '&|").length).toBe(0);
  });

  test("a snippet marks what was found, in other forms of the word too, and knows its lines", () => {
    const passage = `${"filler words here\n".repeat(60)}Brewing green teas well\nend 绿茶`;
    const snippet = snippetOf(passage, queryTerms("brew tea"));
    expect(snippet.text).toContain("\uE000Brewing\uE001 green \uE000teas\uE001 well");
    expect([snippet.lineFrom, snippet.lineTo]).toEqual([60, 60]);
    expect(snippetOf(passage, queryTerms("绿茶")).text).toContain("\uE000绿茶\uE001");
    expect(snippetOf("nothing", queryTerms("else")).text).toBe("nothing");
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
