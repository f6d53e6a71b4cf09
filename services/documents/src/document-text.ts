/**
 * The text of a document, bounded: what is stored of it, searched and shown while its device is off.
 *
 * D1  A text has at most {@link MAX_TEXT_BYTES} bytes, holds no NUL, no lone halves of characters and none of the marks that
 *     snippets use.
 * D2  What has no text fails with a reason for people.
 */

import { extname } from "node:path";

import { type Clock, MeshError } from "@mesh/kernel";

import { kindOf } from "./file-kind.ts";
import { htmlText } from "./html-text.ts";
import { docxText, pptxText } from "./office-text.ts";
import { pdfText } from "./pdf-text.ts";

/** Bytes of UTF-8 that are kept of a text. */
export const MAX_TEXT_BYTES = 1_000_000;

/** The text of a document. */
export interface DocumentTextResult {
  readonly text: string;
  /** There was more. */
  readonly isCut: boolean;
}

const DOCUMENT =
  /\.(md|mdx|markdown|txt|rst|adoc|org|tex|log|html?|xhtml|pdf|docx|pptx|csv|tsv|jsonl?|ya?ml|toml|xml|ini|sql|ts|tsx|js|mjs|cjs|jsx|py|go|rs|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|sh|css|scss|vue|svelte|lua|r|scala|proto)$/i;

/** Whether a file of this path in a workspace becomes a document: it lies below `docs/` and has a form that is read. */
export function isDocumentPath(path: string): boolean {
  return path.startsWith("docs/") && DOCUMENT.test(path);
}

/** Reads the text; throws what its owner should know. */
export async function documentText(
  file: { readonly bytes: Uint8Array; readonly name: string },
  scope: { readonly clock: Pick<Clock, "after">; readonly signal: AbortSignal },
): Promise<DocumentTextResult> {
  if (file.bytes.byteLength === 0) return { text: "", isCut: false };
  const kind = kindOf({ ...file, mimeType: "" });
  switch (kind.kind) {
    case "text":
      return bounded(isHtml(file.name) ? htmlText(kind.text) : kind.text);
    case "docx":
      return told(bounded(docxText(file.bytes)));
    case "pptx":
      return told(bounded(pptxText(file.bytes)));
    case "pdf": {
      const { pages, total } = await pdfText(file.bytes, scope, { maxChars: MAX_TEXT_BYTES });
      told(bounded(pages.join("")));
      const found = bounded(pages.map((page, index) => `## Page ${index + 1}\n${page.trim()}`).join("\n\n"));
      return { ...found, isCut: found.isCut || total !== pages.length };
    }
    case "image":
    case "audio":
      throw new MeshError("unimplemented", `it is ${kind.kind === "image" ? "an image" : "sound"}, which has no text`);
    case "other":
      throw new MeshError("unimplemented", `it is ${kind.what}, which cannot be read as text`);
  }
}

/** Whether a file is to be read as a web page. */
export function isHtml(name: string): boolean {
  return /^\.(html?|xhtml)$/i.test(extname(name));
}

function told(result: DocumentTextResult): DocumentTextResult {
  if (result.text.trim() !== "") return result;
  throw new MeshError("failed_precondition", "it holds no text, as scanned pages do not");
}

function bounded(text: string): DocumentTextResult {
  // oxlint-disable-next-line no-control-regex
  const clean = text.replaceAll(/\r\n?/g, "\n").replaceAll(/[\u0000\uE000\uE001]/g, "");
  const bytes = Buffer.from(clean);
  if (bytes.length <= MAX_TEXT_BYTES) return { text: bytes.toString(), isCut: false };
  let end = MAX_TEXT_BYTES;
  // Not in the middle of a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.subarray(0, end).toString(), isCut: true };
}
