/** The part of a passage that says why it was found. Pure. */

import { normalized, type Term } from "./term.ts";

/** A cut of a passage, with what was found between U+E000 and U+E001. */
export interface Snippet {
  readonly text: string;
  /** Lines of the cut within the passage, from 0. */
  readonly lineFrom: number;
  readonly lineTo: number;
}

const MAX_CHARS = 320;
const LEAD_CHARS = 60;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

interface Mark {
  readonly from: number;
  readonly to: number;
}

/** The cut with the most marks, at most some 320 characters. */
export function snippetOf(passage: string, terms: readonly Term[]): Snippet {
  const marks = marksOf(passage, terms);
  const from = bestStart(passage, marks);
  const to = Math.min(passage.length, from + MAX_CHARS);
  const end = to === passage.length ? to : Math.max(passage.lastIndexOf(" ", to), from + MAX_CHARS / 2);
  const inside = marks.filter((mark) => mark.from >= from && mark.to <= end);
  let text = from > 0 ? "…" : "";
  let at = from;
  for (const mark of inside) {
    text += `${passage.slice(at, mark.from)}\uE000${passage.slice(mark.from, mark.to)}\uE001`;
    at = mark.to;
  }
  text += passage.slice(at, end) + (end < passage.length ? "…" : "");
  const first = inside[0]?.from ?? from;
  const last = inside.at(-1)?.to ?? end;
  return {
    text: Buffer.from(text.trim()).toString(),
    lineFrom: linesBefore(passage, first),
    lineTo: linesBefore(passage, last),
  };
}

function marksOf(passage: string, terms: readonly Term[]): readonly Mark[] {
  const words = new Set(terms.flatMap((term) => (term.kind === "word" ? [stem(term.word)] : [])));
  const marks: Mark[] = [];
  if (words.size > 0) {
    for (const match of passage.matchAll(WORD)) {
      if (words.has(stem(normalized(match[0])))) marks.push({ from: match.index, to: match.index + match[0].length });
    }
  }
  const low = passage.toLowerCase();
  for (const term of terms) {
    if (term.kind !== "pairs" || low.length !== passage.length) continue;
    const wanted = low.includes(term.text) ? [term.text] : term.pairs;
    for (const text of wanted) {
      for (let at = low.indexOf(text); at >= 0; at = low.indexOf(text, at + text.length)) {
        marks.push({ from: at, to: at + text.length });
      }
    }
  }
  return merged(marks.toSorted((a, b) => a.from - b.from));
}

function merged(marks: readonly Mark[]): readonly Mark[] {
  const out: Mark[] = [];
  for (const mark of marks) {
    const last = out.at(-1);
    if (last !== undefined && mark.from <= last.to) out[out.length - 1] = { ...last, to: Math.max(last.to, mark.to) };
    else out.push(mark);
  }
  return out;
}

function bestStart(passage: string, marks: readonly Mark[]): number {
  if (passage.length <= MAX_CHARS) return 0;
  let best = { from: 0, count: 0 };
  for (const [index, mark] of marks.entries()) {
    let count = 0;
    for (
      let next = index;
      next < marks.length && (marks[next]?.to ?? 0) - mark.from < MAX_CHARS - LEAD_CHARS;
      next += 1
    ) {
      count += 1;
    }
    if (count > best.count) best = { from: Math.max(0, mark.from - LEAD_CHARS), count };
  }
  if (best.from === 0) return 0;
  const space = passage.slice(best.from, best.from + LEAD_CHARS).search(/\s/);
  return space < 0 ? best.from : best.from + space + 1;
}

function linesBefore(text: string, at: number): number {
  let count = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) count += 1;
  return count;
}

// Roughly what the index does with English words; only for marks, so a miss costs nothing but a mark.
function stem(word: string): string {
  if (word.length <= 3) return word;
  return word.replace(/(?:ies|ing|edly|ed|es|s|ly|e|y)$/, "").slice(0, 24) || word;
}
