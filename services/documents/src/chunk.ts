/**
 * Cuts a text into passages for search. Pure.
 *
 * C1  Together the passages hold every line of the text, in order; each knows its lines, from 1.
 * C2  A passage begins at a heading or a paragraph where it can, never in the middle of a fenced block that fits.
 * C3  Neighbours overlap by the last lines of the one before, so that a sentence on the border is found whole; a heading
 *     begins without overlap.
 */

/** One passage. */
export interface Chunk {
  readonly lineFrom: number;
  readonly lineTo: number;
  /** The headings above it, joined by ` › `. */
  readonly heading: string;
  readonly text: string;
}

const MAX_CHARS = 1_600;
const OVERLAP_CHARS = 200;
const MAX_HEADING_CHARS = 200;
const HEADING = /^(#{1,6})\s+(\S.*)$/;
const FENCE = /^\s{0,3}(`{3,}|~{3,})/;

interface Line {
  readonly n: number;
  readonly text: string;
  /** A passage may begin here. */
  readonly isStart: boolean;
  /** Headings above and including this line. */
  readonly heading: string;
  readonly isHeading: boolean;
}

/** The passages of a text; none for one without words. */
export function chunkText(text: string): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let open: Line[] = [];
  let chars = 0;
  const close = (): void => {
    if (open.some((line) => line.text.trim() !== "")) chunks.push(chunkOf(open));
  };
  for (const block of blocksOf(linesOf(text))) {
    const size = block.reduce((sum, line) => sum + line.text.length + 1, 0);
    const startsAnew = block[0]?.isHeading === true && chars > OVERLAP_CHARS;
    if (open.length > 0 && (chars + size > MAX_CHARS || startsAnew)) {
      close();
      open = startsAnew ? [] : overlapOf(open);
      chars = open.reduce((sum, line) => sum + line.text.length + 1, 0);
    }
    open.push(...block);
    chars += size;
  }
  close();
  return chunks;
}

function* linesOf(text: string): Generator<Line> {
  const headings = new Map<number, string>();
  let fence = "";
  let wasBlank = true;
  for (const [index, raw] of text.split("\n").entries()) {
    const mark = FENCE.exec(raw)?.[1] ?? "";
    const isHeading = fence === "" && noteHeading(headings, raw);
    const heading = [...headings.values()].join(" › ").slice(0, MAX_HEADING_CHARS);
    const isStart = fence === "" && (wasBlank || isHeading);
    // A line longer than a passage is cut; all its parts are that line.
    for (let at = 0; at === 0 || at < raw.length; at += MAX_CHARS) {
      const part = raw.slice(at, at + MAX_CHARS);
      yield { n: index + 1, text: part, isStart: isStart || at > 0, heading, isHeading: isHeading && at === 0 };
    }
    if (fence === "") fence = mark;
    else if (mark.startsWith(fence)) fence = "";
    wasBlank = raw.trim() === "";
  }
}

/** Takes a heading into the ones that stand above what follows; false for a line that is none. */
function noteHeading(headings: Map<number, string>, line: string): boolean {
  const [, marks = "", title = ""] = HEADING.exec(line) ?? [];
  if (marks === "") return false;
  for (const level of headings.keys()) if (level >= marks.length) headings.delete(level);
  headings.set(marks.length, title.trim());
  return true;
}

/** Lines that stay together: paragraphs, fenced blocks; cut where they are longer than a passage. */
function* blocksOf(lines: Iterable<Line>): Generator<readonly Line[]> {
  let block: Line[] = [];
  let chars = 0;
  for (const line of lines) {
    if (block.length > 0 && (line.isStart || chars + line.text.length > MAX_CHARS)) {
      yield block;
      block = [];
      chars = 0;
    }
    block.push(line);
    chars += line.text.length + 1;
  }
  if (block.length > 0) yield block;
}

function overlapOf(lines: readonly Line[]): Line[] {
  let chars = 0;
  let from = lines.length;
  while (from > 1) {
    chars += (lines[from - 1]?.text.length ?? 0) + 1;
    if (chars > OVERLAP_CHARS) break;
    from -= 1;
  }
  return lines.slice(from);
}

function chunkOf(lines: readonly Line[]): Chunk {
  const filled = lines.filter((line) => line.text.trim() !== "");
  const first = filled[0] ?? lines[0];
  const last = filled.at(-1) ?? lines.at(-1);
  const [lineFrom, lineTo] = [first?.n ?? 1, last?.n ?? 1];
  const own = lines.filter(({ n }) => n >= lineFrom && n <= lineTo);
  return { lineFrom, lineTo, heading: first?.heading ?? "", text: joined(own) };
}

function joined(lines: readonly Line[]): string {
  let text = "";
  let before = 0;
  for (const line of lines) {
    text += before === 0 || line.n === before ? line.text : `\n${line.text}`;
    before = line.n;
  }
  return text;
}
