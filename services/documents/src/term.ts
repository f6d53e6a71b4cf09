/**
 * Words of texts and queries, the same for both. Pure.
 *
 * Scripts without spaces between words (Chinese, Japanese, Thai, …) are indexed as pairs of neighbouring characters, which needs
 * no dictionary: a query of two characters or more finds every place where they stand together.
 */

/** What a query looks for. */
export type Term =
  | { readonly kind: "word"; readonly word: string }
  /** Pairs that stand side by side. */
  | { readonly kind: "pairs"; readonly pairs: readonly string[]; readonly text: string };

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]/u;
const RUN =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]+)|([\p{L}\p{M}\p{N}]+)/gu;
const MAX_TERMS = 24;
const MAX_WORD_CHARS = 64;
const MAX_PAIRS = 32;
// Words that stand nearly everywhere; a query of nothing else keeps them.
const COMMON: ReadonlySet<string> = new Set(
  "a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my of on or our should so than that the their them then there these they this to us was we were what when where which who why will with would you your about".split(
    " ",
  ),
);

/** The words of a text as the index takes them, with spaces between; of unspaced scripts the pairs, and the last character. */
export function indexText(text: string): string {
  const words: string[] = [];
  for (const [word, unspaced] of normalized(text).matchAll(RUN)) {
    if (unspaced === undefined) words.push(word.slice(0, MAX_WORD_CHARS));
    // With the last one alone, each single character begins a word.
    else words.push(...pairsOf(unspaced), ...Array.from(unspaced).slice(-1));
  }
  return words.join(" ");
}

/** What a query looks for, at most 24 terms; empty for one without words. */
export function queryTerms(query: string): readonly Term[] {
  const terms: Term[] = [];
  const seen = new Set<string>();
  for (const [text] of normalized(query).matchAll(RUN)) {
    if (terms.length >= MAX_TERMS) break;
    if (seen.has(text)) continue;
    seen.add(text);
    if (UNSPACED.test(text)) terms.push({ kind: "pairs", pairs: pairsOf(text).slice(0, MAX_PAIRS), text });
    else terms.push({ kind: "word", word: text.slice(0, MAX_WORD_CHARS) });
  }
  const rare = terms.filter((term) => term.kind === "pairs" || !COMMON.has(term.word));
  return rare.length > 0 ? rare : terms;
}

/** How words are compared: without regard to case and to forms of the same character. */
export function normalized(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function pairsOf(text: string): readonly string[] {
  const characters = Array.from(text);
  if (characters.length === 1) return characters;
  return characters.slice(0, -1).map((character, index) => character + (characters[index + 1] ?? ""));
}
