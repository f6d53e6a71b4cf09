/** Texts of a task by rule: its title, its newest line, the words it is found by. Pure. */

const MAX_TITLE = 80;
const MAX_LINE = 200;
const MAX_SUMMARY = 240;
const MAX_WORD = 40;
const MAX_WORDS = 4000;

/** A title from what a person said: the first sentence, cut at a word. */
export function titleOf(message: string): string {
  const line =
    message
      .split(/\r?\n/)
      .map((each) => each.replace(/^[\s#>*-]+/, "").trim())
      .find((each) => each !== "") ?? "";
  const [sentence = line] = line.split(/(?<=[.!?])\s|(?<=[。！？])/u);
  const whole = sentence.replace(/[.。]+$/u, "").trim();
  return cutAtWord(whole === "" ? line : whole, MAX_TITLE) || "New task";
}

/** The last line with something in it, as one line of at most 200 characters. */
export function lastLineOf(text: string): string {
  const line = text.split(/\r?\n/).findLast((each) => each.trim() !== "") ?? "";
  return cutAtWord(line.replaceAll(/\s+/g, " ").trim(), MAX_LINE);
}

/** What came of a run by rule: the first paragraph of its output as one line of at most 240 characters. */
export function summaryOf(output: string): string {
  const paragraph = output.split(/\n\s*\n/).find((each) => each.trim() !== "") ?? "";
  return cutAtWord(paragraph.replaceAll(/\s+/g, " ").trim(), MAX_SUMMARY);
}

/** At most `max` characters, ended at a word, with an ellipsis where something is missing. */
export function cutAtWord(text: string, max: number): string {
  const chars = Array.from(text);
  if (chars.length <= max) return text;
  const cut = chars.slice(0, max - 1).join("");
  const space = cut.lastIndexOf(" ");
  return `${(space > max / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

// Scripts written without spaces: every two neighbours are a word.
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/** The words a text is found by: lower case, without signs; text without spaces as pairs of characters. */
export function wordsOf(text: string): readonly string[] {
  const words = new Set<string>();
  for (const [piece] of text
    .normalize("NFKC")
    .toLowerCase()
    .matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    for (const word of splitScripts(piece)) words.add(word);
    if (words.size >= MAX_WORDS) break;
  }
  return [...words].slice(0, MAX_WORDS);
}

function splitScripts(piece: string): readonly string[] {
  const words: string[] = [];
  let spaced = "";
  let unspaced: string[] = [];
  const endUnspaced = (): void => {
    words.push(...unspaced);
    for (let i = 1; i < unspaced.length; i += 1) words.push(`${unspaced[i - 1] ?? ""}${unspaced[i] ?? ""}`);
    unspaced = [];
  };
  for (const char of piece) {
    if (UNSPACED.test(char)) {
      if (spaced !== "") words.push(firstChars(spaced));
      spaced = "";
      unspaced.push(char);
    } else {
      endUnspaced();
      spaced += char;
    }
  }
  endUnspaced();
  if (spaced !== "") words.push(firstChars(spaced));
  return words;
}

// By characters: half of one is no text.
function firstChars(word: string): string {
  return word.length <= MAX_WORD ? word : Array.from(word).slice(0, MAX_WORD).join("");
}

/**
 * A search as a tsquery: every word must be there, at least as the beginning of one (so that "hotel" finds hotels); very short ones
 * whole, but for the last, which may be half typed. Undefined when it has no word. Words hold
 * letters and digits only, so nothing in them can be an operator.
 */
export function searchOf(query: string): string | undefined {
  const words = wordsOf(query);
  if (words.length === 0) return undefined;
  const last = words.at(-1);
  return words.map((word) => (word === last || word.length > 2 ? `'${word}':*` : `'${word}'`)).join(" & ");
}
