/** URIs of `process` resources: a fixed URI, or a template with `{name}` in its path or query. Pure. */

import type { JsonObject } from "@mesh/kernel";

/** What a URI says: the variables of the template's path, and its query. */
export interface UriMatch {
  readonly path: JsonObject;
  readonly query: JsonObject;
}

const MAX_URI = 2048;

/**
 * Matches `uri` against `pattern`, or returns undefined. Paths must agree; of the query any part may be missing, be in another
 * order or be one the pattern does not name.
 */
export function matchUri(pattern: string, uri: string): UriMatch | undefined {
  if (uri.length > MAX_URI) return undefined;
  const [wantedPath, wantedQuery] = split(pattern);
  const [givenPath, givenQuery] = split(uri);
  const names: string[] = [];
  const source = wantedPath.replaceAll(/\{([A-Za-z_]\w*)\}|[^\w]/g, (part, name: string | undefined) => {
    if (name === undefined) return `\\${part}`;
    names.push(name);
    return "([^/]+)";
  });
  const found = new RegExp(`^${source}$`).exec(givenPath);
  if (found === null) return undefined;
  const path = Object.fromEntries(names.map((name, index) => [name, decode(found[index + 1] ?? "")]));
  return { path, query: queryOf(wantedQuery, givenQuery) };
}

/** Whether a URI has variables. */
export function isUriTemplate(uri: string): boolean {
  return /\{[A-Za-z_]\w*\}/.test(uri);
}

function queryOf(wanted: string, given: string): JsonObject {
  const values = new Map(new URLSearchParams(given));
  // "check={c}" calls the value of `check` also `c`.
  for (const [key, value] of new URLSearchParams(wanted)) {
    const variable = /^\{([A-Za-z_]\w*)\}$/.exec(value)?.[1];
    const text = values.get(key);
    if (variable !== undefined && text !== undefined) values.set(variable, text);
  }
  return Object.fromEntries(values);
}

function split(uri: string): readonly [string, string] {
  const mark = uri.indexOf("?");
  return mark < 0 ? [uri, ""] : [uri.slice(0, mark), uri.slice(mark + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
