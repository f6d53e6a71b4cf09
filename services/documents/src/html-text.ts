/**
 * The text of an HTML page: what a reader would see, a line per block. Nothing of it runs, nothing is fetched.
 *
 * Time is linear in the size of the page: one pass, no expression that looks back.
 */

const SILENT: ReadonlySet<string> = new Set(["script", "style", "noscript", "template", "head", "svg", "iframe"]);
const BLOCKS: ReadonlySet<string> = new Set(
  "address article aside blockquote br dd div dl dt fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table tr ul".split(
    " ",
  ),
);
const HEADING = /^h([1-6])$/;
const ENTITIES: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  amp: "&",
  quot: '"',
  apos: "'",
  nbsp: " ",
  ndash: "–",
  mdash: "—",
  hellip: "…",
  copy: "©",
};

/** The text; headings keep their level as `#` marks, so that they stay headings. */
export function htmlText(html: string): string {
  const out: string[] = [];
  for (let at = 0; at < html.length;) {
    const open = html.indexOf("<", at);
    out.push(unescaped(html.slice(at, open < 0 ? undefined : open)).replaceAll(/\s+/g, " "));
    if (open < 0) break;
    let end = endOfTag(html, open);
    const { name, isEnd } = tagOf(html, open);
    if (SILENT.has(name) && !isEnd && html[end - 2] !== "/") {
      // What stands inside is no text and need not be HTML.
      const close = closing(name, html, end);
      end = close < 0 ? html.length : endOfTag(html, close);
    } else if (BLOCKS.has(name)) out.push(blockMark(name, isEnd));
    else if (name === "td" || name === "th") out.push(isEnd ? "\t" : "");
    at = end;
  }
  const lines = out
    .join("")
    .split("\n")
    .map((line) => line.trim());
  return lines
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
}

function endOfTag(html: string, open: number): number {
  if (html.startsWith("<!--", open)) {
    const end = html.indexOf("-->", open + 4);
    return end < 0 ? html.length : end + 3;
  }
  const end = html.indexOf(">", open);
  return end < 0 ? html.length : end + 1;
}

function closing(name: string, html: string, from: number): number {
  const tag = new RegExp(`</${name}`, "gi");
  tag.lastIndex = from;
  return tag.exec(html)?.index ?? -1;
}

const TAG = /<(\/?)([a-z][a-z0-9]*)/iy;

function tagOf(html: string, open: number): { readonly name: string; readonly isEnd: boolean } {
  TAG.lastIndex = open;
  const [, slash = "", name = ""] = TAG.exec(html) ?? [];
  return { name: name.toLowerCase(), isEnd: slash === "/" };
}

function blockMark(name: string, isEnd: boolean): string {
  const level = HEADING.exec(name)?.[1];
  if (level !== undefined) return isEnd ? "\n\n" : `\n\n${"#".repeat(Number(level))} `;
  if (name === "br" || name === "tr" || name === "li") return name === "li" && !isEnd ? "\n- " : "\n";
  return name === "p" || name === "pre" || name === "table" ? "\n\n" : "\n";
}

function unescaped(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
    if (typeof name === "string") return ENTITIES[name.toLowerCase()] ?? whole;
    const code = typeof decimal === "string" ? Number(decimal) : Number.parseInt(String(hex), 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "";
  });
}
