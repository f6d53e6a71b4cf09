/** Values as text for people: what `console` and `log` write. */

const MAX_TEXT = 64 * 1024;
const MAX_DEPTH = 4;
const MAX_ITEMS = 100;

/** The arguments of one line. `%s %d %i %f %j %o %v` in a leading text take the next argument. */
export function formatLine(values: readonly unknown[]): string {
  const rest = [...values];
  const [first] = rest;
  const parts: string[] = [];
  if (typeof first === "string" && rest.length > 1 && first.includes("%")) {
    rest.shift();
    parts.push(
      first.replace(/%([sdifjov%])/g, (whole, kind: string) => {
        if (kind === "%") return "%";
        return rest.length === 0 ? whole : placed(kind, rest.shift());
      }),
    );
  }
  for (const value of rest) parts.push(typeof value === "string" ? value : show(value, 0, []));
  const line = parts.join(" ");
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}… (${line.length} characters)` : line;
}

function placed(kind: string, value: unknown): string {
  if (kind === "d" || kind === "i") return String(Math.trunc(Number(value)));
  if (kind === "f") return String(Number(value));
  return typeof value === "string" ? value : show(value, 0, []);
}

function show(value: unknown, depth: number, around: readonly unknown[]): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[function ${value.name}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (value instanceof Error) return depth === 0 ? (value.stack ?? String(value)) : String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (around.includes(value)) return "[circular]";
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? "[…]" : "{…}";
  return showObject(value, depth, [...around, value]);
}

function showObject(value: object, depth: number, around: readonly unknown[]): string {
  const item = (inner: unknown): string => show(inner, depth + 1, around);
  if (Array.isArray(value)) return `[${bounded(value.slice(0, MAX_ITEMS).map(item), value.length)}]`;
  if (value instanceof Map)
    return `Map {${bounded(
      [...value].slice(0, MAX_ITEMS).map(([k, v]) => `${item(k)} => ${item(v)}`),
      value.size,
    )}}`;
  if (value instanceof Set) return `Set {${bounded([...value].slice(0, MAX_ITEMS).map(item), value.size)}}`;
  const keys = Object.keys(value);
  const fields = keys.slice(0, MAX_ITEMS).map((key) => `${key}: ${item((value as Record<string, unknown>)[key])}`);
  return `{${bounded(fields, keys.length)}}`;
}

function bounded(shown: readonly string[], total: number): string {
  return total > shown.length ? `${shown.join(", ")}, … ${total - shown.length} more` : shown.join(", ");
}
