/** Small files of the kinds that people attach to messages. For tests. */

import { zipSync } from "fflate";

const encoder = new TextEncoder();

/** An image of one pixel. */
export const PNG: Uint8Array = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

/** A recording without a sound. */
export const WAV: Uint8Array = encoder.encode("RIFF\x24\0\0\0WAVEfmt ");

/** Bytes as a data URI. */
export function dataUri(mimeType: string, bytes: Uint8Array): string {
  return `data:${mimeType};base64,${Buffer.from(bytes).toString("base64")}`;
}

/** A PDF with a line of text on each page; `padding` bytes of comment make it as large as one likes. */
export function pdfFile(pages: readonly string[], padding = 0): Uint8Array {
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((text, index) => {
      const content = `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`;
      const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + index * 2} 0 R >>`;
      return [page, `<< /Length ${content.length} >>\nstream\n${content}\nendstream`];
    }),
  ];
  let file = `%PDF-1.4\n%${"x".repeat(padding)}\n`;
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const start = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  return encoder.encode(`${file}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF`);
}

/** A Word file with this body. */
export function docxFile(body: string): Uint8Array {
  return archive({ "word/document.xml": `<w:document xmlns:w="w"><w:body>${body}</w:body></w:document>` });
}

/** A PowerPoint file with a paragraph on each slide; the last slide stands first in the archive, as order in it means nothing. */
export function pptxFile(slides: readonly string[]): Uint8Array {
  const files = slides.map((text, index) => [
    `ppt/slides/slide${index + 1}.xml`,
    `<p:sld xmlns:a="a"><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sld>`,
  ]);
  return archive(Object.fromEntries(files.toReversed()) as Record<string, string>);
}

/** A zip archive of texts. */
export function archive(files: Readonly<Record<string, string>>): Uint8Array {
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, encoder.encode(text)])));
}
