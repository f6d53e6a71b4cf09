/**
 * Cuts a growing Markdown text into blocks that are done, and a tail that may still change. Pure but for its state.
 *
 * B1  Blocks, put together, and the tail are the text.
 * B2  What is said of a piece costs what the piece is long, however long the text is: only new lines are looked at.
 * B3  Text inside a code fence is never cut but at the fence's end; the tail then tells that it is code.
 */

const MAX_TAIL_CHARS = 8 * 1024;
const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const CONTINUES = /^(?:\s|[-*+][ \t]|\d{1,9}[.)][ \t]|$)/;

/** The cutter of one text. */
export class MarkdownBlocks {
  /** Blocks that do not change any more. */
  readonly done: string[] = [];
  /** What comes after them. */
  tail = "";
  #fence = "";
  #fenceStart = -1;
  /** Where in the tail the next line begins that was not looked at. */
  #seen = 0;
  #afterBlank = false;

  /** The fence that the tail is in, if it is a block of code: its language and the code so far. */
  get openCode(): { readonly language: string; readonly code: string } | undefined {
    if (this.#fence === "" || this.#fenceStart !== 0) return undefined;
    const end = this.tail.indexOf("\n");
    if (end === -1) return undefined;
    const info = FENCE.exec(this.tail.slice(0, end))?.[2]?.trim() ?? "";
    return { language: info.split(/\s/)[0] ?? "", code: this.tail.slice(end + 1) };
  }

  /** Takes the next piece. */
  push(piece: string): void {
    this.tail += piece;
    for (;;) {
      const end = this.tail.indexOf("\n", this.#seen);
      if (end === -1) return;
      this.#line(this.tail.slice(this.#seen, end), end + 1);
    }
  }

  #line(line: string, next: number): void {
    const start = this.#seen;
    this.#seen = next;
    const fence = FENCE.exec(line);
    if (this.#fence !== "") {
      if (fence !== null && isClosing(fence, this.#fence)) this.#endFence(next);
      return;
    }
    if (start > 0 && this.#mayCut(line, start, fence !== null)) this.#cut(start);
    this.#afterBlank = line.trim() === "";
    if (fence === null) return;
    this.#fence = fence[1] ?? "";
    this.#fenceStart = this.#seen - (line.length + 1);
  }

  #endFence(next: number): void {
    const isWhole = this.#fenceStart === 0;
    this.#fence = "";
    this.#fenceStart = -1;
    if (isWhole) this.#cut(next);
  }

  #mayCut(line: string, start: number, isFence: boolean): boolean {
    if (this.#afterBlank && !CONTINUES.test(line)) return true;
    return (isFence && !/^\s/.test(line)) || this.#isTooLong(line, start);
  }

  // A list or paragraph without end: it is cut where a line begins, which shows as a break at most.
  #isTooLong(line: string, start: number): boolean {
    return start > MAX_TAIL_CHARS && !/^\s/.test(line);
  }

  #cut(at: number): void {
    this.done.push(this.tail.slice(0, at));
    this.tail = this.tail.slice(at);
    this.#seen -= at;
    this.#afterBlank = false;
  }
}

function isClosing(line: RegExpExecArray, fence: string): boolean {
  return (line[2] ?? "").trim() === "" && (line[1] ?? "").startsWith(fence);
}

/** All blocks of a whole text. */
export function blocksOf(text: string): readonly string[] {
  const blocks = new MarkdownBlocks();
  blocks.push(text);
  return blocks.tail === "" ? blocks.done : [...blocks.done, blocks.tail];
}
