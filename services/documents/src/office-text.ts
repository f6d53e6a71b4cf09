/**
 * The text of Word and PowerPoint files: archives of XML, of which only what was written counts.
 *
 * Time is linear in the size of the XML, and that is bounded before anything is unpacked.
 */

import { MeshError } from "@mesh/kernel";
import { unzipSync } from "fflate";

const MAX_XML_BYTES = 8 * 1024 * 1024;
const MAX_FILES = 500;

/** Text of a .docx file, a line per paragraph. */
export function docxText(bytes: Uint8Array): string {
  return [...unpack(bytes, /^word\/document\.xml$/)].map(([, xml]) => paragraphs(xml)).join("\n");
}

/** Text of a .pptx file, slide by slide. */
export function pptxText(bytes: Uint8Array): string {
  const number = (name: string): number => Number(/(\d+)\.xml$/.exec(name)?.[1] ?? 0);
  const slides = [...unpack(bytes, /^ppt\/slides\/slide\d+\.xml$/)].toSorted(([a], [b]) => number(a) - number(b));
  return slides.map(([, xml], index) => `## Slide ${index + 1}\n${paragraphs(xml)}`).join("\n\n");
}

function unpack(bytes: Uint8Array, wanted: RegExp): ReadonlyMap<string, string> {
  let total = 0;
  let count = 0;
  const filter = ({ name, originalSize }: { readonly name: string; readonly originalSize: number }): boolean => {
    if (!wanted.test(name)) return false;
    total += originalSize;
    count += 1;
    if (total <= MAX_XML_BYTES && count <= MAX_FILES) return true;
    throw new MeshError("resource_exhausted", "it holds too much text to be read; send a part of it");
  };
  try {
    const files = Object.entries(unzipSync(bytes, { filter }));
    if (files.length === 0) throw new MeshError("invalid_argument", "it holds no document");
    const decoder = new TextDecoder();
    return new Map(files.map(([name, content]) => [name, decoder.decode(content)]));
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw new MeshError("invalid_argument", "it is damaged", { cause: error });
  }
}

/** What stands in the text elements of both formats (`w:t`, `a:t`), with line ends where paragraphs and breaks are. */
function paragraphs(xml: string): string {
  const out: string[] = [];
  let isText = false;
  for (let at = 0; at < xml.length;) {
    const open = xml.indexOf("<", at);
    if (isText) out.push(unescaped(xml.slice(at, open < 0 ? undefined : open)));
    const close = open < 0 ? -1 : xml.indexOf(">", open);
    if (close < 0) break;
    const name = tagAt(xml, open + 1);
    isText = name === "t" && xml[close - 1] !== "/";
    const mark = MARKS.get(name);
    if (mark !== undefined) out.push(mark);
    at = close + 1;
  }
  return out
    .join("")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

/** Name of the tag that begins there, without its namespace and with its slash; empty for one without a namespace. */
function tagAt(xml: string, at: number): string {
  TAG.lastIndex = at;
  const [, slash = "", name = ""] = TAG.exec(xml) ?? [];
  return slash + name;
}

const TAG = /(\/?)\w+:(\w+)/y;
const MARKS: ReadonlyMap<string, string> = new Map([
  ["/p", "\n"],
  ["br", "\n"],
  ["cr", "\n"],
  ["tab", "\t"],
  ["/tc", "\t"],
]);
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,4}));/gi, (whole, decimal, hex, name) => {
    if (typeof name === "string") return ENTITIES[name] ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
