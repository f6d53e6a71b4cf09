import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { Ajv, type ValidateFunction } from "ajv";
import { describe, expect, test } from "vitest";

import { readAppDirectory } from "../app-directory.ts";
import type { AppFiles } from "../app.ts";
import { demoAppDirectory } from "../demo-app.ts";
import { loadApp } from "../load-app.ts";
import { parseJsonSource } from "../json-source.ts";
import { plainJson } from "../source-node.ts";
import { parseYamlSource } from "../yaml-source.ts";
import { CONFIG_KINDS } from "./config-kind.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { schemaFiles } from "./schema-files.ts";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../../shared");
const published = resolve(import.meta.dirname, "../../../../docs/schemas");

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const validators = new Map<string, ValidateFunction>(
  CONFIG_KINDS.map((kind) => [kind.name, ajv.compile(jsonSchemaOf(kind))]),
);

test("docs/schemas holds what the tables say; npm run gen -w @mesh/assistants writes it", () => {
  const found = readdirSync(published).map((name) => [name, readFileSync(join(published, name), "utf8")] as const);
  expect(new Map(found)).toEqual(schemaFiles());
});

test("every field of every kind says what it is for", () => {
  for (const [name, text] of schemaFiles())
    expect(text, name).not.toMatch(/"description": "(?:[^"]{0,5}|[^"]*undefined[^"]*)"/);
});

/** Paths whose file the schema of its kind refuses. */
function refused(files: AppFiles): { readonly checked: number; readonly refused: readonly string[] } {
  let checked = 0;
  const bad: string[] = [];
  for (const [path, bytes] of files) {
    const kind = CONFIG_KINDS.find((candidate) => candidate.path.test(path));
    if (kind === undefined) continue;
    const source = new TextDecoder().decode(bytes);
    const { root } = path.endsWith(".yml") ? parseYamlSource(source) : parseJsonSource(source);
    if (root === undefined) continue;
    checked += 1;
    if (validators.get(kind.name)?.(plainJson(root)) !== true) bad.push(path);
  }
  return { checked, refused: bad };
}

/** Paths about which loading says what a schema can say as well. */
function complained(files: AppFiles): readonly string[] {
  const { problems } = loadApp(files);
  const own = problems.filter(({ severity, message }) => severity === "error" || message.startsWith("unknown key"));
  // A database's connector is none, so that its shape does not matter.
  const databases = problems.filter(({ message }) => message.includes("is a database"));
  return [...new Set([...own, ...databases].map(({ file }) => file))].toSorted();
}

test("the demo app is valid by the schemas", async () => {
  const { checked, refused: bad } = refused(await readAppDirectory(demoAppDirectory));
  expect(checked).toBeGreaterThan(10);
  expect(bad).toEqual([]);
});

test.each<[name: string, path: string, value: unknown]>([
  ["package.yao", "assistants/a/package.yao", { name: 1 }],
  ["package.yao", "assistants/a/package.yao", { name: "a", colour: 1 }],
  ["package.yao", "assistants/a/package.yao", { name: "a", mcp: { servers: [{ x: 1 }] } }],
  ["mcp.yao", "mcps/a.mcp.yao", { transport: "carrier pigeon" }],
  ["in.yao", "mcps/mapping/a/schemes/t.in.yao", { properties: { a: { items: { type: "strng" } } } }],
  ["conn.yao", "connectors/c.conn.yao", { type: "openai", options: {} }],
  ["sandbox.yao", "assistants/a/sandbox.yao", { version: 2 }],
  ["agent.yml", "agent/agent.yml", { uses: { default: 1 } }],
  ["search.yml", "agent/search.yml", { kb: { threshold: 2 } }],
])("what the %s of %s may not hold, its schema refuses as loading does", (name, path, value) => {
  const files = new Map([
    ["assistants/a/package.yao", JSON.stringify({ name: "A" })],
    ["mcps/a.mcp.yao", JSON.stringify({ transport: "process", tools: { t: "utils.now.Date" } })],
    [path, JSON.stringify(value)],
  ]);
  const bytes = new Map([...files].map(([file, text]) => [file, new TextEncoder().encode(text)]));
  expect(validators.get(name)?.(value)).toBe(false);
  expect(complained(bytes)).toEqual([path]);
});

const corpus = join(shared, "corpus");
const isPresent = existsSync(corpus);
if (!isPresent)
  console.warn(`skipped: the public apps are not at ${corpus}; set YAO_SHARED_DIR to the folder that holds them`);

describe.skipIf(!isPresent).each(["yao-dev-app", "yao-init", "yao-unit/agent/app"])("the public app %s", (folder) => {
  test("is refused by the schemas exactly where loading complains", async () => {
    const files = await readAppDirectory(join(corpus, folder));
    const { checked, refused: bad } = refused(files);
    expect(checked).toBeGreaterThan(50);
    const kinds = new Set(
      CONFIG_KINDS.filter(({ path }) => bad.some((file) => path.test(file))).map(({ name }) => name),
    );
    expect(bad.toSorted(), [...kinds].join(" ")).toEqual(complained(files));
  });
});
