/** The OpenAPI document as one page that needs nothing else: no script, no other host. Pure. */

import { createHash } from "node:crypto";

import { isObject } from "@mesh/kernel";

type Fields = Readonly<Record<string, unknown>>;

/** A page and the policy it is served under. */
export interface DocsPage {
  readonly html: string;
  readonly contentSecurityPolicy: string;
}

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:0 auto;padding:1rem}
h1,h2{line-height:1.2}h2{margin-top:2.5rem}nav ul{columns:3;padding:0;list-style:none}@media(max-width:40rem){nav ul{columns:1}}
details{border-top:1px solid #8884;padding:.4rem 0}summary{cursor:pointer;overflow-wrap:anywhere}summary b{display:inline-block;min-width:4.5rem}
code,pre{font:.9em/1.4 ui-monospace,monospace}pre{overflow:auto;background:#8881;padding:.6rem;border-radius:.4rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem .6rem .2rem 0}.muted{opacity:.75}`;

const MAX_DEPTH = 4;

/** Renders a document. */
export function docsPage(document: Fields): DocsPage {
  const info = fieldsOf(document["info"]);
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const sections = tags.map((tag) => section(tag, operations, document)).join("\n");
  const links = tags.map((tag) => `<li><a href="#${idOf(tag)}">${escaped(tag)}</a></li>`).join("");
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(textOf(info["title"]))} API</title><style>${STYLE}</style></head><body>
<h1>${escaped(textOf(info["title"]))} API <span class="muted">${escaped(textOf(info["version"]))}</span></h1>
<p>${escaped(textOf(info["description"]))} Send the token as <code>Authorization: Bearer TOKEN</code>. The document for programs is
<a href="/v1/openapi.json">/v1/openapi.json</a>.</p><nav><ul>${links}</ul></nav>
${sections}</body></html>`;
  const hash = createHash("sha256").update(STYLE).digest("base64");
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

interface Described {
  readonly verb: string;
  readonly path: string;
  readonly tag: string;
  readonly operation: Fields;
}

function operationsOf(document: Fields): readonly Described[] {
  return Object.entries(fieldsOf(document["paths"])).flatMap(([path, item]) =>
    Object.entries(fieldsOf(item)).map(([verb, value]) => {
      const operation = fieldsOf(value);
      const [tag] = Array.isArray(operation["tags"]) ? (operation["tags"] as readonly unknown[]) : [];
      return { verb: verb.toUpperCase(), path, tag: textOf(tag) || "Other", operation };
    }),
  );
}

function section(tag: string, operations: readonly Described[], document: Fields): string {
  const own = operations.filter((each) => each.tag === tag);
  return `<h2 id="${idOf(tag)}">${escaped(tag)}</h2>${own.map((each) => details(each, document)).join("\n")}`;
}

function details({ verb, path, operation }: Described, document: Fields): string {
  const scope = textOf(operation["x-scope"]);
  const needs = scope === "" ? "No token is needed." : `Scope <code>${escaped(scope)}</code>.`;
  const body = fieldsOf(fieldsOf(operation["requestBody"])["content"]);
  return `<details id="${idOf(textOf(operation["operationId"]) || path)}"><summary><b>${verb}</b> <code>${escaped(path)}</code> ${escaped(textOf(operation["summary"]))}</summary>
<p>${escaped(textOf(operation["description"]))} ${needs}</p>${parameters(operation)}${contents("Body", body, document)}${answers(operation, document)}</details>`;
}

function parameters(operation: Fields): string {
  const given = Array.isArray(operation["parameters"]) ? (operation["parameters"] as readonly unknown[]) : [];
  if (given.length === 0) return "";
  const rows = given.map(fieldsOf).map((each) => {
    const isNeeded = each["required"] === true ? "needed" : "optional";
    const schema = JSON.stringify(each["schema"] ?? {});
    return `<tr><td><code>${escaped(textOf(each["name"]))}</code></td><td>${escaped(textOf(each["in"]))}, ${isNeeded}</td><td><code>${escaped(schema)}</code></td></tr>`;
  });
  return `<table><tbody>${rows.join("")}</tbody></table>`;
}

function answers(operation: Fields, document: Fields): string {
  return Object.entries(fieldsOf(operation["responses"]))
    .map(([status, answer]) => contents(`Answer ${status}`, fieldsOf(fieldsOf(answer)["content"]), document))
    .join("");
}

function contents(title: string, content: Fields, document: Fields): string {
  return Object.entries(content)
    .map(([type, media]) => {
      const shape = resolved(fieldsOf(media)["schema"] ?? {}, document, 0);
      return `<p>${escaped(title)}: <code>${escaped(type)}</code></p><pre>${escaped(JSON.stringify(shape, null, 2))}</pre>`;
    })
    .join("");
}

/** A schema with what it refers to in its place, a few levels deep. */
function resolved(schema: unknown, document: Fields, depth: number): unknown {
  if (Array.isArray(schema)) return schema.map((each) => resolved(each, document, depth));
  if (!isObject(schema)) return schema;
  const name = /^#\/components\/schemas\/(\w+)$/.exec(textOf(schema["$ref"]))?.[1];
  if (name !== undefined) {
    if (depth >= MAX_DEPTH) return name;
    return resolved(fieldsOf(fieldsOf(document["components"])["schemas"])[name], document, depth + 1);
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value, document, depth)]));
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function idOf(text: string): string {
  return text.replaceAll(/\W+/g, "-").toLowerCase();
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
