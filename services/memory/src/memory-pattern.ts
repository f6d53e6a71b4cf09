/** Keys by pattern: `*` stands for any text, everything else for itself. */

/** Whether a key is a pattern. */
export function isWildcard(key: string): boolean {
  return key.includes("*");
}

/** Whether a key matches a pattern; takes time in proportion to both, whatever the pattern. */
export function matches(pattern: string, key: string): boolean {
  const [head = "", ...parts] = pattern.split("*");
  const tail = parts.pop();
  if (tail === undefined) return pattern === key;
  if (!key.startsWith(head) || !key.endsWith(tail) || key.length < head.length + tail.length) return false;
  let at = head.length;
  for (const part of parts) {
    const found = key.indexOf(part, at);
    if (found < 0 || found + part.length > key.length - tail.length) return false;
    at = found + part.length;
  }
  return true;
}

/** The pattern for SQL's LIKE with `\` as escape. */
export function likePattern(pattern: string): string {
  return pattern.replaceAll(/[\\%_]/g, (each) => `\\${each}`).replaceAll("*", "%");
}
