/** PostgreSQL's text form of arrays, such as `{a,"b c",NULL,{nested}}`. */

/** An array of values, null or arrays of the same. */
export type Nested<T> = readonly (T | null | Nested<T>)[];

/** Writes an array; elements are turned into text by `element`. */
export function formatArray(values: Nested<unknown>, element: (value: unknown) => string): string {
  const parts = values.map((value) => {
    if (value === null || value === undefined) return "NULL";
    return Array.isArray(value) ? formatArray(value, element) : quote(element(value));
  });
  return `{${parts.join(",")}}`;
}

/** Reads an array; elements are read from their text by `element`. Throws on text that is no array. */
export function parseArray<T>(text: string, element: (text: string) => T): Nested<T> {
  // A lower bound other than 1 is written in front: `[0:1]={a,b}`.
  const start = text.startsWith("[") ? text.indexOf("=") + 1 : 0;
  const { values, end } = parseFrom(text, start, element);
  if (end !== text.length) throw new Error("text after the end of an array");
  return values;
}

const TOKEN = /"((?:[^"\\]|\\.)*)"|([^{},"]+)/sy;

function parseFrom<T>(text: string, start: number, element: (text: string) => T): { values: Nested<T>; end: number } {
  if (text[start] !== "{") throw new Error("not an array");
  const values: (T | null | Nested<T>)[] = [];
  let at = start + 1;
  while (text[at] !== "}") {
    if (text[at] === "{") {
      const inner = parseFrom(text, at, element);
      values.push(inner.values);
      at = inner.end;
    } else {
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(text);
      if (match === null) throw new Error("damaged array");
      const [whole, quoted, bare] = match;
      if (quoted !== undefined) values.push(element(quoted.replaceAll(/\\(.)/gs, "$1")));
      else values.push(bare === "NULL" ? null : element(bare ?? ""));
      at += whole.length;
    }
    if (text[at] === ",") at += 1;
  }
  return { values, end: at + 1 };
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}
