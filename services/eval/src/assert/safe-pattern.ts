/**
 * Patterns that mean the same to this engine as to RE2 and cannot run away: they are matched by the engine itself, which is a
 * hundred times faster. Everything else is left to RE2; a property test holds the two against each other.
 *
 * P1  No group repeats, and at most one part repeats without bound, so that a match costs at most the square of the text; callers
 *     use such a pattern on short texts only.
 */

/** A pattern of the engine. */
export interface SafePattern {
  readonly regex: RegExp;
  /** Whether a part repeats without bound. */
  readonly repeats: boolean;
}

const PREFIX = /^\(\?i\)/;
// One part and what repeats it: a class, an escape, a dot, an anchor, a plain character.
const PART =
  /(?:(?<set>\[\^?[A-Za-z0-9_ ,.:;-]+\])|\\(?<escape>.)|(?<dot>\.)|(?<anchor>[$^])|(?<bar>\|)|(?<open>\((?:\?:)?(?!\?))|(?<close>\))|(?<plain>[^\\.*+?()[\]{}|$^]))(?<repeat>[*+?]\??)?/uy;
const CLASSES: Readonly<Record<string, string>> = { d: "[0-9]", s: "[\\t\\n\\f\\r ]", w: "[0-9A-Za-z_]" };
const PUNCTUATION = /[!"#%&',./:;<=>@`~\-$^*+?()[\]{}|\\]/;
// In sets a hyphen must stand between two characters of one kind.
const SET = /^\[\^?(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_ ,.:;])+\]$/;
const ASCII = /^[ -~]*$/;

type Parts = Readonly<Partial<Record<string, string>>>;

/** The same pattern for this engine, or undefined where that is not certain. */
export function safePattern(pattern: string): SafePattern | undefined {
  const isFolded = PREFIX.test(pattern);
  const body = pattern.replace(PREFIX, "");
  const parts = isFolded && !ASCII.test(body) ? undefined : partsOf(body);
  if (parts === undefined) return undefined;
  const unbounded = parts.filter(({ repeat = "" }) => /^[*+]/.test(repeat)).length;
  const sources = parts.map((groups) => translated(groups, isFolded));
  if (unbounded > 1 || !isBalanced(parts) || sources.includes(undefined)) return undefined;
  return { regex: new RegExp(sources.join(""), isFolded ? "iu" : "u"), repeats: unbounded > 0 };
}

function partsOf(body: string): readonly Parts[] | undefined {
  const parts: Parts[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < body.length) {
    const groups = PART.exec(body)?.groups;
    if (groups === undefined) return undefined;
    parts.push(groups);
  }
  return parts;
}

function isBalanced(parts: readonly Parts[]): boolean {
  let depth = 0;
  for (const { open, close } of parts) {
    if (open !== undefined) depth += 1;
    if (close !== undefined) depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function translated(groups: Parts, isFolded: boolean): string | undefined {
  const { set, escape, anchor, bar, open, close, repeat = "" } = groups;
  const fixed = open === undefined ? (anchor ?? bar ?? close) : "(?:";
  if (fixed !== undefined) return repeat === "" ? fixed : undefined;
  if (set !== undefined) return isSet(set, isFolded) ? `${set}${repeat}` : undefined;
  const single = escape === undefined ? plainOf(groups) : escapeOf(escape, isFolded);
  return single === undefined ? undefined : `${single}${repeat}`;
}

function plainOf({ dot, plain }: Parts): string | undefined {
  if (dot !== undefined) return "[^\\n]";
  return plain === undefined ? undefined : literal(plain);
}

function escapeOf(escape: string, isFolded: boolean): string | undefined {
  // Folded, \w would have letters from outside of ASCII in one engine.
  if (escape === "w" && isFolded) return undefined;
  return CLASSES[escape] ?? (PUNCTUATION.test(escape) ? literal(escape) : undefined);
}

function isSet(set: string, isFolded: boolean): boolean {
  if (!SET.test(set) || (isFolded && set.startsWith("[^"))) return false;
  return [...set.matchAll(/([A-Za-z0-9])-([A-Za-z0-9])/g)].every(([, from = "", to = ""]) => from <= to);
}

function literal(char: string): string {
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}
