/**
 * The documents of the format and the blocks of code in them. One of the documents has lost its fences: there a block is a run of
 * paragraphs that look like code.
 */

import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** One block of code of a document. */
export interface Block {
  /** `hooks:16`: document and line of its first line. */
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../shared");
const folder = join(shared, "spec");

/** Whether the documents are there; says so when they are not. */
export const hasSpec: boolean = existsSync(folder);
if (!hasSpec)
  console.warn(`skipped: the documents are not at ${folder}; set YAO_SHARED_DIR to the folder that holds them`);

/** The blocks of a document, such as `hooks`, in order; none where the documents are absent. */
export function blocksOf(document: string): readonly Block[] {
  if (!hasSpec) return [];
  const text = readFileSync(join(folder, `${document}.md`), "utf8");
  const found = text.includes("\n```") ? fencedBlocks(text) : looseBlocks(text);
  return found.map(({ line, ...block }) => ({ name: `${document}:${line}`, ...block }));
}

type Found = Omit<Block, "name"> & { readonly line: number };

function fencedBlocks(text: string): readonly Found[] {
  // The last fence of a document may be open.
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)(?:^```|$(?![\s\S]))/gm)].map(
    ({ index, 1: language = "", 2: code = "" }) => ({
      line: lineAt(text, index) + 1,
      language,
      code,
    }),
  );
}

/** The beginning of code: a comment, a declaration, a condition, a call that is a statement, the object of a chain. */
const STATEMENT =
  /^(?:\/\/ |\/\*\*|\{$|(?:const|let|function|import|interface) |(?:if|try) [({]|[\w.]+\(.*[;({[](?: *\/\/.*)?$|[a-z]+(?:_[a-z]+)+$)/;

function looseBlocks(text: string): readonly Found[] {
  const found: Found[] = [];
  let open: { line: number; lines: string[]; depth: number } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const isInside = open !== undefined && (open.depth > 0 || line.startsWith(" "));
    const isCode = isInside || STATEMENT.test(line);
    if (isCode) {
      open ??= { line: index + 1, lines: [], depth: 0 };
      open.depth += depthOf(line);
      open.lines.push(line);
    } else if (line === "" && open !== undefined) {
      open.lines.push(line);
    } else if (open !== undefined) {
      found.push(looseBlock(open));
      open = undefined;
    }
  }
  return open === undefined ? found : [...found, looseBlock(open)];
}

function looseBlock({ line, lines }: { readonly line: number; readonly lines: readonly string[] }): Found {
  return { line, language: lines[0] === "{" ? "json" : "javascript", code: `${lines.join("\n").trimEnd()}\n` };
}

/** How many brackets a line opens more than it closes; texts and comments do not count. */
function depthOf(line: string): number {
  const plain = line.replaceAll(/"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|\/\/.*$/g, "");
  return (plain.match(/[([{]/g)?.length ?? 0) - (plain.match(/[)\]}]/g)?.length ?? 0);
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}
