/**
 * Which functions a module declares at its top level, exported or not.
 *
 * Hooks are plain `function Create(…) {…}`; a bundler would drop them as unused. There is no parser here: esbuild prints
 * the module in its own layout, in which exactly the top-level statements start in the first column (multi-line template
 * literals, the one exception, are lowered to single-line strings, and comments are dropped).
 */

/** What the top level of a module offers. */
export interface TopLevel {
  /** Functions declared here, in order. */
  readonly functions: readonly string[];
  /** Names that are exported under their own name already. */
  readonly exported: ReadonlySet<string>;
  /** Other names of functions declared here: `export { a as b }`. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Everything declared here that is not a function. */
  readonly values: ReadonlySet<string>;
}

const NAME = String.raw`[\p{ID_Start}$_][\p{ID_Continue}$]*`;
const FUNCTION = new RegExp(`^(export )?(?:async )?function\\*? ?(${NAME})\\(`, "u");
const DEFAULT = new RegExp(`^export default (?:async )?function\\*? ?(?:${NAME})?\\(`, "u");
const BINDING = new RegExp(`^(export )?(?:const|let|var|class) ${NAME}`, "u");
const DECLARATOR = new RegExp(
  `(?:^(?:export )?(?:const|let|var|class)|,) (${NAME})(?: = ((?:async )?(?:function\\b|\\(.*?\\) =>|${NAME} =>)))?`,
  "gu",
);
const EXPORTED = new RegExp(`^ {2}(${NAME})(?: as (${NAME}))?,?$`, "u");

/** Reads the top level of a TypeScript or JavaScript module; throws esbuild's failure when it does not parse. */
export async function topLevelOf(source: string, path: string): Promise<TopLevel> {
  // Loaded when there is a script: most runs have none to bundle.
  const { transform } = await import("esbuild");
  const { code } = await transform(source, {
    loader: path.endsWith(".ts") ? "ts" : "js",
    sourcefile: path,
    format: "esm",
    legalComments: "none",
    charset: "utf8",
    supported: { "template-literal": false },
    tsconfigRaw: "{}",
    logLevel: "silent",
  });
  return scan(code.split("\n"));
}

function scan(lines: readonly string[]): TopLevel {
  const functions: string[] = [];
  const exported = new Set<string>();
  const values = new Set<string>();
  const aliases = new Map<string, string>();
  let inExports = false;
  for (const line of lines) {
    if (line === "export {") inExports = true;
    else if (line.startsWith("}")) inExports = false;
    const item = inExports ? EXPORTED.exec(line) : null;
    if (item?.[1] !== undefined) {
      if (item[2] === undefined) exported.add(item[1]);
      else aliases.set(item[2], item[1]);
      continue;
    }
    for (const { name, isExported, isFunction } of declarations(line)) {
      if (isExported) exported.add(name);
      if (isFunction) functions.push(name);
      else values.add(name);
    }
  }
  return { functions, exported, aliases, values };
}

interface Declaration {
  readonly name: string;
  readonly isExported: boolean;
  readonly isFunction: boolean;
}

function declarations(line: string): readonly Declaration[] {
  if (DEFAULT.test(line)) return [{ name: "default", isExported: true, isFunction: true }];
  const named = FUNCTION.exec(line);
  if (named?.[2] !== undefined) return [{ name: named[2], isExported: named[1] !== undefined, isFunction: true }];
  const binding = BINDING.exec(line);
  if (binding === null) return [];
  // May take an assignment inside an expression for a declaration; such a name is no export and does not matter.
  return [...line.matchAll(DECLARATOR)].flatMap(([, name, value]) =>
    name === undefined ? [] : [{ name, isExported: binding[1] !== undefined, isFunction: value !== undefined }],
  );
}
