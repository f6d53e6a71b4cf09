/** Runs the official conformance suite, an npm package with a command, against our server and our client. */

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { systemClock } from "@mesh/kernel";

import { createMcpServer } from "../server.ts";
import { conformanceOffer } from "./conformance-offer.ts";
import { listenHttp } from "./http-listener.ts";

/** What one scenario found. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly passed: number;
  readonly failed: number;
  readonly warnings: number;
  readonly faults: readonly string[];
}

interface Check {
  readonly name: string;
  readonly status: string;
  readonly errorMessage?: string;
}

const TIMEOUT_MS = 120_000;
/** The client scenarios that say something about ours; the others are about OAuth, which it does not do. */
const CLIENT_SCENARIOS = ["initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults"] as const;

const require = createRequire(import.meta.url);
const manifest = require.resolve("@modelcontextprotocol/conformance/package.json");
/** Its version. */
export const conformanceVersion: Promise<string> = readFile(manifest, "utf8").then(
  (text) => (JSON.parse(text) as { readonly version: string }).version,
);

/** The server's results, every scenario. */
export async function runServerSuite(): Promise<readonly ScenarioResult[]> {
  const listener = await listenHttp((port) =>
    createMcpServer(conformanceOffer).http(
      { clock: systemClock },
      {
        callerKey: (caller) => caller,
        sessions: "resumable",
        allowedHosts: [`127.0.0.1:${port}`, `localhost:${port}`],
        allowedOrigins: [`http://127.0.0.1:${port}`, `http://localhost:${port}`],
      },
    ),
  );
  try {
    return await runSuite(["server", "--url", listener.url, "--suite", "all"]);
  } finally {
    await listener.close();
  }
}

/** The client's results. */
export async function runClientSuite(): Promise<readonly ScenarioResult[]> {
  const client = join(import.meta.dirname, "conformance-client.ts");
  // The suite splits the command at blanks, so neither path may have one.
  // Runners have no code generation, so this has none.
  const flags = "--disallow-code-generation-from-strings --import tsx --conditions=@mesh/source";
  const command = `${process.execPath} ${flags} ${client}`;
  const results: ScenarioResult[] = [];
  for (const scenario of CLIENT_SCENARIOS) {
    results.push(...(await runSuite(["client", "--command", command, "--scenario", scenario])));
  }
  return results;
}

async function runSuite(args: readonly string[]): Promise<readonly ScenarioResult[]> {
  const dir = await mkdtemp(join(tmpdir(), "mcp-conformance-"));
  try {
    await runCommand([...args, "--output-dir", dir]);
    const names = (await readdir(dir)).toSorted();
    return await Promise.all(names.map((name) => readResult(dir, name)));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function readResult(dir: string, name: string): Promise<ScenarioResult> {
  const checks = JSON.parse(await readFile(join(dir, name, "checks.json"), "utf8")) as readonly Check[];
  const count = (status: string): number => checks.filter((check) => check.status === status).length;
  const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  return {
    scenario: name.replace(/-\d{4}-\d\d-\d\dT.*$/, "").replace(/^server-(?=.)/, ""),
    passed: count("SUCCESS"),
    failed: count("FAILURE"),
    warnings: count("WARNING"),
    faults: bad.map((check) => `${check.name}: ${check.errorMessage ?? check.status}`),
  };
}

/**
 * A hook for the suite's own modules: it imports `globSync`, which Node has since version 22, for a subcommand that is not used
 * here.
 */
const FS_HOOK = `
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
  export const resolve = (name, context, next) =>
    name === "fs" && context.parentURL?.includes("/@modelcontextprotocol/conformance/")
      ? { url: "conformance:fs", shortCircuit: true }
      : next(name, context);
  const source = 'export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];';
  export const load = (url, context, next) =>
    url === "conformance:fs" ? { format: "module", shortCircuit: true, source } : next(url, context);
\`));`;

async function runCommand(args: readonly string[]): Promise<void> {
  const hook =
    Number(process.versions.node.split(".")[0]) < 22
      ? ["--import", `data:text/javascript,${encodeURIComponent(FS_HOOK)}`]
      : [];
  const program = join(dirname(manifest), "dist/index.js");
  const child = spawn(process.execPath, [...hook, program, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    timeout: TIMEOUT_MS,
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-4000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  // 1 says that checks failed, which the files say in detail.
  if (code !== 0 && code !== 1) throw new Error(`the conformance suite ended with code ${code}: ${stderr}`);
  if (stderr.includes("SyntaxError")) throw new Error(`the conformance suite could not be loaded: ${stderr}`);
}
