/** Labels as people type them: one `name=value` per line, or with commas between. Pure. */

/** Labels by name. */
export type Labels = Readonly<Record<string, string>>;

/** Reads labels; `bad` is the first piece that is none. */
export function readLabels(text: string): { readonly labels: Labels; readonly bad: string | undefined } {
  const labels: Record<string, string> = {};
  for (const piece of text.split(/[\n,]/).map((part) => part.trim())) {
    if (piece === "") continue;
    const at = piece.indexOf("=");
    const [name, value] = [piece.slice(0, at).trim(), piece.slice(at + 1).trim()];
    if (at < 1 || value === "") return { labels, bad: piece };
    labels[name] = value;
  }
  return { labels, bad: undefined };
}

/** Writes labels as {@link readLabels} reads them. */
export function writeLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** What turns one set into the other: labels to set, and with an empty value those to remove. */
export function labelChange(before: Labels, after: Labels): Record<string, string> {
  const gone = Object.keys(before).filter((name) => after[name] === undefined);
  return { ...Object.fromEntries(gone.map((name) => [name, ""])), ...after };
}
