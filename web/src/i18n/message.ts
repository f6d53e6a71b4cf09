/**
 * Messages with places: `{name}` and `{count, plural, one {# task} other {# tasks}}`, a small part of ICU's syntax. Pure.
 *
 * I1  A place without a value stays readable: it is shown as it was written.
 */

/** What fills the places of a message. */
export type Values = Readonly<Record<string, string | number>>;

/** The message with its places filled. */
export function format(message: string, values: Values, locale: string): string {
  if (!message.includes("{")) return message;
  let text = "";
  let at = 0;
  while (at < message.length) {
    const open = message.indexOf("{", at);
    if (open === -1) return text + message.slice(at);
    const close = closing(message, open);
    if (close === -1) return text + message.slice(at);
    text += message.slice(at, open) + place(message.slice(open + 1, close), values, locale);
    at = close + 1;
  }
  return text;
}

/** Names of the places of a message, for comparing languages. */
export function placesOf(message: string): string[] {
  const names = [...message.matchAll(/\{(\w+)(?=[},])/g)].map((match) => match[1] ?? "");
  // A branch of one word, such as one {task}, looks the same; real places stand before a comma or a closing brace.
  const branches = new Set([...message.matchAll(/\b(?:zero|one|two|few|many|other)\s*\{(\w+)\}/g)].map((m) => m[1]));
  return [...new Set(names.filter((name) => !branches.has(name)))].sort();
}

function place(inner: string, values: Values, locale: string): string {
  const [name = "", kind, ...branches] = inner.split(",");
  const value = values[name.trim()];
  if (value === undefined) return `{${inner}}`;
  const shown = typeof value === "number" ? new Intl.NumberFormat(locale).format(value) : value;
  if (kind?.trim() !== "plural") return shown;
  const options = readBranches(branches.join(","));
  const category = new Intl.PluralRules(locale).select(Number(value));
  const chosen = options.get(category) ?? options.get("other") ?? "";
  return format(chosen, values, locale).replaceAll("#", shown);
}

function readBranches(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let at = 0;
  for (;;) {
    const open = text.indexOf("{", at);
    const close = open === -1 ? -1 : closing(text, open);
    if (close === -1) return found;
    found.set(text.slice(at, open).trim(), text.slice(open + 1, close));
    at = close + 1;
  }
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "{") depth += 1;
    if (text[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

const ACCENTS: Readonly<Record<string, string>> = {
  a: "á",
  c: "ç",
  e: "é",
  i: "í",
  n: "ñ",
  o: "ó",
  s: "š",
  u: "ú",
  y: "ý",
  A: "Á",
  E: "É",
  I: "Í",
  O: "Ó",
  U: "Ú",
};

/** English made longer and accented, so that tests see what is not translated and what does not fit. */
export function pseudo(message: string): string {
  let depth = 0;
  const accented = message.split("").map((letter) => {
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    return depth === 0 ? (ACCENTS[letter] ?? letter) : letter;
  });
  return `[${accented.join("")}${"·".repeat(Math.ceil(message.length / 4))}]`;
}
