import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "..");

/** Who may import whom. A new edge is a design decision: change docs/architecture.md with it. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  proto: [],
  "services/kernel": [],
  "services/observability": ["kernel"],
  "services/bus": ["kernel", "proto"],
  "services/rpc": ["kernel", "proto"],
  "services/store": ["kernel"],
  "services/assistants": ["kernel"],
  "services/llm": ["kernel"],
  "services/agent": ["kernel", "llm"],
  "services/memory": ["kernel"],
  "services/documents": ["kernel"],
  "services/scripts": ["kernel", "memory"],
  // What users' editors read; nothing of ours imports it.
  "services/yao-runtime": [],
  "services/mcp": ["kernel"],
  "services/models": ["kernel", "store"],
  "services/runtime": ["kernel", "assistants", "llm", "agent", "scripts", "mcp", "memory", "documents"],
  "services/eval": ["kernel", "assistants", "llm", "scripts", "runtime"],
  // The command line starts whole processes: it loads the entry points of the two deployables, lazily.
  "services/cli": [
    "kernel",
    "proto",
    "store",
    "bus",
    "assistants",
    "scripts",
    "models",
    "eval",
    "coordinator",
    "node-agent",
  ],
  coordinator: [
    "kernel",
    "observability",
    "bus",
    "rpc",
    "store",
    "proto",
    "assistants",
    "documents",
    "llm",
    "memory",
    "models",
    "mcp",
    "eval",
  ],
  "node-agent": [
    "kernel",
    "observability",
    "bus",
    "proto",
    "assistants",
    "documents",
    "llm",
    "agent",
    "runtime",
    "scripts",
    "mcp",
    "eval",
  ],
  // Types only: see below.
  web: ["proto"],
};

function sources(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    if (name === "node_modules" || name === "dist" || name === "gen") return [];
    if (statSync(path).isDirectory()) return sources(path);
    return /\.tsx?$/.test(name) ? [path] : [];
  });
}

function importsOf(path: string): string[] {
  const text = readFileSync(path, "utf8");
  const statements = text.matchAll(/^(?:import|export)\s(?:[^;"'`]*?\sfrom\s+)?"([^"\n]+)";/gm);
  const calls = text.matchAll(/\bimport\("([^"\n]+)"\)/g);
  return [...statements, ...calls].map((match) => match[1] ?? "");
}

function dependenciesOf(pkg: string, isTest: boolean): Set<string> {
  const manifest = JSON.parse(readFileSync(join(ROOT, pkg, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  const root = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    devDependencies?: Record<string, string>;
  };
  const own = { ...manifest.dependencies, ...(isTest ? manifest.devDependencies : {}) };
  return new Set([...Object.keys(own), ...Object.keys(root.devDependencies ?? {})]);
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? "");
}

function violations(pkg: string): string[] {
  const found: string[] = [];
  for (const file of sources(join(ROOT, pkg, "src"))) {
    const isTest = /\.(test|bench)\.tsx?$/.test(file) || file.includes("/testing/");
    const declared = dependenciesOf(pkg, isTest);
    for (const specifier of importsOf(file)) {
      const where = `${relative(ROOT, file)} imports ${specifier}`;
      if (specifier.startsWith(".")) {
        const target = resolve(dirname(file), specifier);
        if (!target.startsWith(join(ROOT, pkg) + "/")) found.push(`${where}: leaves its package`);
      } else if (specifier.startsWith("@mesh/")) {
        const name = packageOf(specifier).slice("@mesh/".length);
        if (name !== "testing" && !(ALLOWED[pkg] ?? []).includes(name) && !isTest)
          found.push(`${where}: edge not allowed`);
        if (specifier.endsWith("/testing") && !isTest) found.push(`${where}: fakes are for tests`);
      } else if (!specifier.startsWith("node:") && !declared.has(packageOf(specifier))) {
        found.push(`${where}: not in its package.json`);
      }
    }
  }
  return found;
}

test.each(Object.keys(ALLOWED))("%s imports only what the architecture allows", (pkg) => {
  expect(violations(pkg)).toEqual([]);
});

test("coordinator and node-agent never import each other", () => {
  expect(ALLOWED["coordinator"]).not.toContain("node-agent");
  expect(ALLOWED["node-agent"]).not.toContain("coordinator");
  expect(ALLOWED["node-agent"]).not.toContain("store");
});

test("the page takes only types from the wire contract, never its code", () => {
  const files = sources(join(ROOT, "web/src"));
  const values = files.filter((file) =>
    [...readFileSync(file, "utf8").matchAll(/^(import|export)\s(type\s)?[^;"'`]*?from\s+"@mesh\//gm)].some(
      (match) => match[2] === undefined,
    ),
  );
  expect(files.length).toBeGreaterThan(0);
  expect(values.map((file) => relative(ROOT, file))).toEqual([]);
});

test("entry files export by name, not with a star", () => {
  const stars = Object.keys(ALLOWED)
    // The page is a program without an entry file for others.
    .filter((pkg) => pkg !== "web")
    .filter((pkg) => readFileSync(join(ROOT, pkg, "src/index.ts"), "utf8").includes("export *"));
  expect(stars).toEqual([]);
});
