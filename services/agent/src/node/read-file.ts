/** The `read_file` tool: a page of numbered lines, or an image. */

import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { extname } from "node:path";
import type { TextDecoder } from "node:util";

import type { JsonObject } from "@mesh/kernel";

import { type AgentTool, invalidArguments, textOutput, toolFailed, type ToolOutput } from "../tool.ts";
import { decoderFor } from "./bounded-line.ts";
import { fileError, type FileToolOptions, pathOf } from "./file-tool.ts";

/** How much one call reads. */
export interface ReadFileOptions extends FileToolOptions {
  /** Lines of a page when the call names none; `Infinity` reads whole files. */
  readonly pageLines?: number;
}

const DEFAULT_PAGE_LINES = 500;
const MAX_LINE_CHARS = 2000;
const MAX_PAGE_BYTES = 1_000_000;
const MAX_IMAGE_BYTES = 20_000_000;
const PROBE_BYTES = 8192;
const IMAGES: Readonly<Record<string, string | undefined>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".bmp": "image/bmp",
};

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    path: { type: "string" },
    offset: { type: "integer", minimum: 1, description: "First line, from 1." },
    limit: { type: "integer", minimum: 1, description: "Number of lines." },
  },
  required: ["path"],
};

/** The tool that reads files. */
export function readFileTool(options: ReadFileOptions): AgentTool {
  return {
    name: "read_file",
    description: "Read a text file as numbered lines, page by page with offset and limit, or look at an image file.",
    parameters: PARAMETERS,
    maxOutputLines: Infinity,
    execute: (args) => read(options, args),
  };
}

async function read(options: ReadFileOptions, args: JsonObject): Promise<ToolOutput> {
  const shown = pathOf(args);
  const path = await options.sandbox.resolve(shown);
  let handle: FileHandle | undefined;
  try {
    handle = await options.sandbox.open(path, constants.O_RDONLY);
    const stats = await handle.stat();
    if (stats.isDirectory()) throw toolFailed(`${shown} is a folder; use list_files`);
    if (!stats.isFile()) throw toolFailed(`${shown} is not a regular file`);
    const mimeType = IMAGES[extname(path).toLowerCase()];
    const output =
      mimeType === undefined
        ? await readPage(handle, { shown, size: stats.size, args, pageLines: options.pageLines ?? DEFAULT_PAGE_LINES })
        : await readImage(handle, { shown, size: stats.size, mimeType });
    await options.ledger?.note(path);
    return output;
  } catch (error) {
    throw fileError(error, shown);
  } finally {
    await handle?.close();
  }
}

async function readImage(
  handle: FileHandle,
  file: { readonly shown: string; readonly size: number; readonly mimeType: string },
): Promise<ToolOutput> {
  if (file.size > MAX_IMAGE_BYTES) throw toolFailed(`${file.shown} is larger than ${MAX_IMAGE_BYTES} bytes`);
  const data = (await handle.readFile()).toString("base64");
  return { content: [{ type: "image", data, mimeType: file.mimeType }], details: { bytes: file.size } };
}

interface Page {
  readonly shown: string;
  readonly size: number;
  readonly args: JsonObject;
  readonly pageLines: number;
}

async function readPage(handle: FileHandle, page: Page): Promise<ToolOutput> {
  const decoder = await decoderOf(handle, page.shown);
  const first = typeof page.args["offset"] === "number" ? page.args["offset"] : 1;
  const limit = typeof page.args["limit"] === "number" ? page.args["limit"] : page.pageLines;
  const reader = new PageReader(first, limit);
  // Read to the end even past the page where that is cheap, so that the header can say how long the file is.
  const countsAll = page.size <= MAX_PAGE_BYTES;
  for await (const chunk of handle.createReadStream({ autoClose: false, start: 0 })) {
    reader.push(decoder.decode(chunk as Buffer, { stream: true }));
    if (reader.isFull && !countsAll) break;
  }
  reader.push(decoder.decode());
  reader.end();
  if (reader.lines.length === 0 && first > 1) {
    throw invalidArguments(`${page.shown} has ${reader.total} lines; offset ${first} is past its end`);
  }
  const last = first + reader.lines.length - 1;
  const isWhole = first === 1 && !reader.hasMore;
  const range = reader.lines.length === 0 ? "empty" : `lines ${first}-${last}`;
  const total = countsAll ? ` of ${reader.total}` : reader.hasMore ? ", more follow" : "";
  const header = isWhole ? `${page.shown} (${reader.total} lines)` : `${page.shown} (${range}${total})`;
  const width = String(last).length;
  const numbered = reader.lines.map((line, index) => `${String(first + index).padStart(width)} | ${line}`);
  return textOutput([header, ...numbered].join("\n"), { first, last, complete: isWhole });
}

async function decoderOf(handle: FileHandle, shown: string): Promise<TextDecoder> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(PROBE_BYTES), 0, PROBE_BYTES, 0);
  const probe = buffer.subarray(0, bytesRead);
  const decoder = decoderFor(probe);
  if (decoder.encoding === "utf-8" && probe.includes(0)) throw toolFailed(`${shown} is not a text file`);
  return decoder;
}

/** Takes text in pieces and keeps the lines of one page. */
class PageReader {
  readonly lines: string[] = [];
  readonly #first: number;
  readonly #limit: number;
  #bytes = 0;
  #number = 1;
  #line = "";
  #dropped = 0;
  #hasText = false;

  constructor(first: number, limit: number) {
    this.#first = first;
    this.#limit = limit;
  }

  /** Lines seen so far. */
  get total(): number {
    return this.#number - 1;
  }

  get isFull(): boolean {
    return this.lines.length >= this.#limit || this.#bytes >= MAX_PAGE_BYTES;
  }

  get hasMore(): boolean {
    return this.total > this.#first - 1 + this.lines.length;
  }

  push(text: string): void {
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      this.#grow(text.slice(from, at));
      this.#finishLine();
      from = at + 1;
    }
    this.#grow(text.slice(from));
  }

  end(): void {
    if (this.#hasText) this.#finishLine();
  }

  #grow(piece: string): void {
    if (piece === "") return;
    this.#hasText = true;
    // A file of one endless line must not be held in memory.
    const room = Math.max(0, MAX_LINE_CHARS - this.#line.length);
    this.#line += piece.slice(0, room);
    this.#dropped += Math.max(0, piece.length - room);
  }

  #finishLine(): void {
    if (this.#number >= this.#first && !this.isFull) {
      const text = this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line;
      const line = this.#dropped === 0 ? text : `${text}... (${this.#dropped} characters more)`;
      this.lines.push(line);
      this.#bytes += line.length;
    }
    this.#number += 1;
    this.#line = "";
    this.#dropped = 0;
    this.#hasText = false;
  }
}
