/** The real `yao` command as a child process, from source. */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const MAIN = join(import.meta.dirname, "..", "main.ts");
const TSX = ["--import=tsx", "--conditions=@mesh/source"];

/** Command and arguments that run `yao` from source. */
export const YAO: readonly string[] = [process.execPath, ...TSX, MAIN];

/** A running command. */
export interface YaoProcess {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts `yao <args>`; variables of the test run's own mesh are not passed on. */
export function startYao(args: readonly string[], env: Readonly<Record<string, string>>, input?: string): YaoProcess {
  const [command = "", ...rest] = YAO;
  const child = spawn(command, [...rest, ...args], {
    env: { ...ownEnvironment(), ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once("close", (code, signal) => resolve({ code, signal })),
  );
  return { child, stdout: () => stdout, stderr: () => stderr, exited };
}

/** The environment of a command in a test. */
export function ownEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("YAO_") && name !== "NODE_OPTIONS");
  return Object.fromEntries(entries.map(([name, value]) => [name, value ?? ""]));
}
