/** From the bytes of a document to passages that can be found: kinds, text, chunks, words. */

export { type Chunk, chunkText } from "./chunk.ts";
export { documentText, type DocumentTextResult, isDocumentPath, MAX_TEXT_BYTES } from "./document-text.ts";
export { extractInThread, type ThreadLimits } from "./extract-thread.ts";
export { type Attachment, type DocumentKind, type FileKind, isMedia, kindOf, type MediaKind } from "./file-kind.ts";
export { mediaTypeOf } from "./media-type.ts";
export { docxText, pptxText } from "./office-text.ts";
export { pdfText } from "./pdf-text.ts";
export { type Snippet, snippetOf } from "./snippet.ts";
export { indexText, queryTerms, type Term } from "./term.ts";
