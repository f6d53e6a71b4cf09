/** A file as text for a model: its name, then what it says. Long texts are cut, and say so. */

import { capText } from "@mesh/agent";
import { type Attachment, type DocumentKind, docxText, pdfText, pptxText } from "@mesh/documents";
import { type Clock, MeshError } from "@mesh/kernel";

/** What stops the reading. */
export interface DocumentScope {
  readonly clock: Pick<Clock, "after">;
  readonly signal: AbortSignal;
  readonly maxChars: number;
}

/** The text of a file; throws where it has none. */
export async function documentText(file: Attachment, kind: DocumentKind, scope: DocumentScope): Promise<string> {
  const { text, note = "" } = await textOf(file, kind, scope);
  const cut = capText(text, { maxLines: Number.POSITIVE_INFINITY, maxBytes: scope.maxChars });
  const body = kind.kind === "text" && kind.language !== undefined ? fenced(cut, kind.language) : cut;
  return `File: ${file.name === "" ? "(without a name)" : file.name}${note}\n\n${body}`;
}

async function textOf(
  { bytes }: Attachment,
  kind: DocumentKind,
  scope: DocumentScope,
): Promise<{ readonly text: string; readonly note?: string }> {
  switch (kind.kind) {
    case "text":
      return { text: kind.text };
    case "docx":
      return { text: told(docxText(bytes)) };
    case "pptx":
      return { text: told(pptxText(bytes)) };
    case "pdf": {
      const { pages, total } = await pdfText(bytes, scope);
      told(pages.join(""));
      const text = pages.map((page, index) => `## Page ${index + 1}\n${page.trim()}`).join("\n\n");
      return total === pages.length
        ? { text }
        : { text, note: ` (the first ${pages.length} of ${total ?? "its"} pages)` };
    }
    case "other":
      throw new MeshError("unimplemented", `it is ${kind.what}, which cannot be read`);
  }
}

function told(text: string): string {
  if (text.trim() !== "") return text;
  throw new MeshError("failed_precondition", "it holds no text, as scanned pages do not; send its pages as images");
}

/** A fence that no line of the text can close. */
function fenced(text: string, language: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
