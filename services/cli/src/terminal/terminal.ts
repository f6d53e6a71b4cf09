/**
 * Where a command writes and reads.
 *
 * T1  Results go to stdout, everything else to stderr.
 * T2  When the reader of stdout has gone away, writing becomes a no-op and `closed` aborts; nothing is thrown.
 * T3  Text from elsewhere cannot move the cursor or set colours of a terminal: `plain` takes control characters out.
 */

import type { Readable, Writable } from "node:stream";

import { MeshError } from "@mesh/kernel";

import { readHiddenLine, type TtyInput } from "./hidden-line.ts";
import { readVisibleLine } from "./visible-line.ts";

/** The streams of a process. */
export interface TerminalStreams {
  readonly stdin: TtyInput;
  readonly stdout: Writable & { readonly isTTY?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
}

/** What a command knows about where it writes. */
export interface Terminal {
  /** Whether a person reads stdout. */
  readonly isTty: boolean;
  /** Whether a person reads stderr: only then is progress shown. */
  readonly showsProgress: boolean;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  /** Aborts when the reader of stdout went away. */
  readonly closed: AbortSignal;
  out(text: string): void;
  err(text: string): void;
  /** One line of progress on stderr; nothing when nobody watches. */
  progress(line: string): void;
  /** Faint text on stderr; nothing when nobody watches. */
  dim(text: string): void;
  bold(text: string): string;
  /** Asks without echo; refuses when stdin is not a terminal. */
  ask(question: string): Promise<string>;
  /** Asks with echo; undefined at the end of stdin, and when `signal` aborts. */
  askLine(question: string, signal: AbortSignal): Promise<string | undefined>;
  /** All of stdin, bounded. */
  readAll(maxBytes: number): Promise<string>;
  /** The same as bytes. */
  readBytes(maxBytes: number): Promise<Buffer>;
  /** Writes bytes to stdout as they are; resolves when more can be taken. */
  outBytes(bytes: Uint8Array): Promise<void>;
}

/** A terminal over the streams of this process. */
export function openTerminal(streams: TerminalStreams, env: { readonly NO_COLOR?: string | undefined }): Terminal {
  const closed = new AbortController();
  const { stdin, stdout, stderr } = streams;
  for (const stream of [stdout, stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      // EIO: the terminal itself is gone.
      if (stream === stdout || error.code === "EIO") closed.abort();
    });
  }
  const write = (stream: Writable, text: string): void => {
    if (!closed.signal.aborted && !stream.destroyed) stream.write(text);
  };
  const noColor = env.NO_COLOR !== undefined && env.NO_COLOR !== "";
  const showsProgress = stderr.isTTY === true;
  const faint = (text: string): string => (noColor ? text : `\u001B[2m${text}\u001B[22m`);
  return {
    isTty: stdout.isTTY === true,
    showsProgress,
    canAsk: stdin.isTTY === true && showsProgress,
    closed: closed.signal,
    out: (text) => write(stdout, text),
    err: (text) => write(stderr, text),
    progress: (line) => {
      if (showsProgress) write(stderr, `${faint(plain(line))}\n`);
    },
    dim: (text) => {
      if (showsProgress) write(stderr, faint(plain(text)));
    },
    bold: (text) => (stdout.isTTY === true && !noColor ? `\u001B[1m${text}\u001B[22m` : text),
    ask: (question) => readHiddenLine(stdin, stderr, question),
    askLine: (question, signal) => readVisibleLine(stdin, stderr, question, signal),
    readAll: async (maxBytes) => (await readAll(stdin, maxBytes)).toString("utf8"),
    readBytes: (maxBytes) => readAll(stdin, maxBytes),
    outBytes: (bytes) => writeBytes(stdout, bytes, closed.signal),
  };
}

/** Text without the control characters that a terminal would obey; line ends and tabs stay. */
export function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this removes
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}

/** Text as one line, for tables and errors. */
export function oneLine(text: string): string {
  return plain(text.replaceAll(/\s+/g, " ")).trim();
}

function writeBytes(stdout: Writable, bytes: Uint8Array, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (closed.aborted || stdout.destroyed || stdout.write(bytes)) {
      resolve();
      return;
    }
    const done = (): void => {
      stdout.off("drain", done);
      closed.removeEventListener("abort", done);
      resolve();
    };
    stdout.once("drain", done);
    closed.addEventListener("abort", done, { once: true });
  });
}

async function readAll(stdin: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    const bytes = Buffer.from(chunk as Buffer);
    size += bytes.byteLength;
    if (size > maxBytes) {
      throw new MeshError("resource_exhausted", `the standard input is larger than ${maxBytes} bytes — send less`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
