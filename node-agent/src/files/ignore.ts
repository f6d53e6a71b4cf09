/** Which parts of a workspace's directory are no files of the workspace: what builds and tools leave, and what `.yaoignore` names. */

/** Whether a path is left out; `path` with slashes, relative. */
export type Ignore = (path: string, isDirectory: boolean) => boolean;

const ALWAYS: ReadonlySet<string> = new Set([".git", "node_modules"]);
// What a write that is under way, or was cut off, leaves beside its file.
const DRAFT = /^\..+\.[0-9a-f-]{36}\.tmp$/;
const MAX_RULES = 500;
const MAX_RULE_CHARS = 300;
const MAX_STARS = 4;

/** The rules of a `.yaoignore`: a name or a glob per line; with a slash it is a path from the top, with one at the end a directory. */
export function ignoreOf(text: string): Ignore {
  const rules = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#") && line.length <= MAX_RULE_CHARS)
    .slice(0, MAX_RULES)
    .flatMap((line) => {
      const rule = ruleOf(line);
      return rule === undefined ? [] : [rule];
    });
  return (path, isDirectory) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (ALWAYS.has(name) || DRAFT.test(name)) return true;
    return rules.some((rule) => (!rule.isDirectory || isDirectory) && rule.pattern.test(rule.isPath ? path : name));
  };
}

interface Rule {
  readonly pattern: RegExp;
  readonly isPath: boolean;
  readonly isDirectory: boolean;
}

function ruleOf(line: string): Rule | undefined {
  const bare = line.replace(/\/+$/, "").replace(/^\.?\//, "");
  // Each star multiplies what a failed match costs.
  if (bare === "" || (bare.match(/\*+/g)?.length ?? 0) > MAX_STARS) return undefined;
  return {
    pattern: patternOf(bare),
    isPath: /^\.?\//.test(line) || bare.includes("/"),
    isDirectory: line.endsWith("/"),
  };
}

function patternOf(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (token) => {
    if (token === "**/") return "(?:.*/)?";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    return token === "?" ? "[^/]" : `\\${token}`;
  });
  return new RegExp(`^${source}$`, "u");
}
