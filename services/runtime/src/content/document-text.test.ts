import { systemClock } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { archive, docxFile, pdfFile, pptxFile } from "@mesh/documents/testing";
import { documentText } from "./document-text.ts";
import { type DocumentKind, docxText, kindOf, pdfText, pptxText } from "@mesh/documents";

function read(bytes: Uint8Array, name: string, maxChars = 10_000): Promise<string> {
  const file = { bytes, name, mimeType: "" };
  const scope = { clock: systemClock, signal: new AbortController().signal, maxChars };
  return documentText(file, kindOf(file) as DocumentKind, scope);
}

describe("a PDF", () => {
  const io = { clock: systemClock, signal: new AbortController().signal };

  test("is read page by page", async () => {
    expect(await read(pdfFile(["First page", "Second page"]), "a.pdf")).toBe(
      "File: a.pdf\n\n## Page 1\nFirst page\n\n## Page 2\nSecond page",
    );
  });

  test("over a bound is read as far as the bound, and says so", async () => {
    const pages = Array.from({ length: 20 }, (_, index) => `page ${index}`);
    expect(await pdfText(pdfFile(pages), io, { maxPages: 3 })).toEqual({ pages: pages.slice(0, 3), total: 20 });
    const { pages: some, total } = await pdfText(pdfFile(pages), io, { maxChars: 5 });
    expect([some, total]).toEqual([["page 0"], 20]);
  });

  test("without text, damaged, or no PDF at all is refused in words", async () => {
    await expect(read(pdfFile([""]), "scan.pdf")).rejects.toThrow("it holds no text");
    await expect(read(Buffer.from("%PDF-1.4 and then nothing"), "a.pdf")).rejects.toThrow("it is damaged");
    await expect(read(pdfFile(["x"]).subarray(0, 300), "a.pdf")).rejects.toThrow("it is damaged");
  });

  test("that takes too long is given up", async () => {
    await expect(pdfText(pdfFile(["x"]), io, { timeoutMs: 1 })).rejects.toThrow("within 0.001 s");
  });

  test("that needs too much memory costs only its reader", async () => {
    await expect(pdfText(pdfFile(["x"]), io, { memoryMb: 4 })).rejects.toThrow("more memory");
    expect((await pdfText(pdfFile(["x"]), io)).pages).toEqual(["x"]);
  });

  test("is not read on when the run is cancelled", async () => {
    const stop = new AbortController();
    const reading = pdfText(pdfFile(["x"]), { clock: systemClock, signal: stop.signal });
    stop.abort();
    await expect(reading).rejects.toMatchObject({ code: "cancelled" });
  });
});

describe("an office file", () => {
  test("gives its paragraphs, breaks, tabs and signs", () => {
    const body =
      '<w:p w:rsidR="1"><w:pPr><w:t2/></w:pPr><w:r><w:t xml:space="preserve">a &amp; b</w:t><w:tab/><w:t>c&#x20;d</w:t></w:r></w:p>' +
      "<w:p><w:r><w:delText>gone</w:delText><w:t/><w:t>&lt;x&gt;</w:t><w:br/><w:t>y&bogus;&#9999999;</w:t></w:r></w:p>";
    expect(docxText(docxFile(body))).toBe("a & b\tc d\n<x>\ny&bogus;&#9999999;");
  });

  test("gives its slides in their order, also with more than nine", () => {
    const slides = Array.from({ length: 11 }, (_, index) => `s${index + 1}`);
    const text = pptxText(pptxFile(slides));
    expect(text).toContain("## Slide 2\ns2\n\n## Slide 3\ns3");
    expect(text.endsWith("## Slide 11\ns11")).toBe(true);
  });

  test("that unpacks to more than may be read is refused before it is unpacked", () => {
    const bomb = archive({ "word/document.xml": "x".repeat(9 * 1024 * 1024) });
    expect(bomb.byteLength).toBeLessThan(20_000);
    expect(() => docxText(bomb)).toThrow("too much text");
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`ppt/slides/slide${n}.xml`, "x"]));
    expect(() => pptxText(archive(many))).toThrow("too much text");
  });

  test("that lies about its size, is cut or is empty is refused in words", () => {
    const honest = docxFile(`<w:t>${"y".repeat(5_000)}</w:t>`);
    expect(() => docxText(honest.subarray(0, 60))).toThrow("it is damaged");
    expect(() => docxText(archive({ other: "x" }))).toThrow("no document");
    expect(() => docxText(new Uint8Array())).toThrow("it is damaged");
    const liar = Buffer.from(archive({ "word/document.xml": "z".repeat(100_000) }));
    // Size of the unpacked file, in the directory at the end of the archive.
    liar.writeUInt32LE(10, liar.lastIndexOf("PK\x01\x02") + 24);
    expect(docxText(liar).length).toBeLessThan(100);
  });

  test("with endless tags is read in no time", () => {
    for (const piece of ["<", "<a", "<w:t>", "<w:t", "&", "&#"]) {
      const file = docxFile(piece.repeat(1_000_000));
      const started = performance.now();
      docxText(file);
      expect(performance.now() - started, piece).toBeLessThan(5_000);
    }
  });
});

describe("text", () => {
  test("of code stands in a fence that it cannot close", async () => {
    expect(await read(Buffer.from("let a = `````x`````;"), "a.ts")).toBe(
      "File: a.ts\n\n``````typescript\nlet a = `````x`````;\n``````",
    );
  });

  test("over a bound is cut, and says so", async () => {
    const text = await read(Buffer.from("word ".repeat(10_000)), "a.txt", 1_000);
    expect(text.length).toBeLessThan(1_100);
    expect(text).toContain("[... ");
  });

  test("is not made of what is none", async () => {
    await expect(read(Buffer.from([0, 1, 2, 3]), "a.bin")).rejects.toThrow("cannot be read");
  });
});
