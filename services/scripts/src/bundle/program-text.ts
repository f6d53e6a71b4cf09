/** Turns a bundle that ends in an `export {…}` list into a script whose value is the object of its exports. */

/** First line of every program; stands alone so that the bundle's own lines keep their mapping. */
export const PROGRAM_HEAD = "(() => {";

const ITEM = /^ {2}(\S+?)(?: as (?:("[^"]*")|(\S+?)))?,?$/;
const EXPORTS = "\nexport {\n";

/** The script's text. `exportCount` says whether there is a list at all. */
export function programText(bundle: string, exportCount: number): string {
  const text = bundle.trimEnd();
  if (exportCount === 0) return `${text}\nreturn {};\n})()\n`;
  // The list is the bundle's last statement, so its last occurrence is the real one, whatever a string may contain.
  const at = text.lastIndexOf(EXPORTS);
  const items = text
    .slice(at + EXPORTS.length)
    .split("\n")
    .flatMap((line) => {
      const [, local, quoted, alias] = ITEM.exec(line) ?? [];
      return local === undefined ? [] : [`${quoted ?? JSON.stringify(alias ?? local)}: ${local}`];
    });
  return `${text.slice(0, at)}\nreturn { ${items.join(", ")} };\n})()\n`;
}
