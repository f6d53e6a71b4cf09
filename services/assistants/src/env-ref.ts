/** References to variables, `$ENV.NAME`, in configuration: which there are, and their replacement. */

/** Looks up a variable of the workspace or device; undefined when it is not set. */
export type EnvLookup = (name: string) => string | undefined;

/** The options of a connector in which `$ENV.NAME` is replaced. */
export const ENV_OPTIONS = ["host", "proxy", "model", "key"] as const;

const ENV_REF = /\$ENV\.([A-Za-z_][A-Za-z0-9_]*)/g;

/** Names of the variables in a text, in order, each once. */
export function envNamesIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(ENV_REF)].map((match) => match[1] ?? ""))];
}

/** The text with every reference replaced, and the names that had no value (they become empty). */
export function resolveEnv(
  text: string,
  env: EnvLookup,
): { readonly text: string; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  const resolved = text.replace(ENV_REF, (_reference, name: string) => {
    const value = env(name) ?? "";
    if (value === "") missing.add(name);
    return value;
  });
  return { text: resolved, missing: [...missing] };
}
