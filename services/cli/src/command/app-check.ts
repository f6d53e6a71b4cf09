/** `yao app check`: every problem of an app directory at once. */

import { stat } from "node:fs/promises";
import { resolve } from "node:path";

import type { AppChecker, AppFiles } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";
import type { Problem } from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, type CommonFlags, print } from "../cli.ts";
import { type Builder, leaf } from "../command.ts";
import { oneLine } from "../terminal/terminal.ts";

/** What is known of an app directory. */
export interface CheckedApp {
  readonly files: AppFiles;
  /** Sorted by file and line. */
  readonly problems: readonly Problem[];
  /** How many assistants can be run. */
  readonly assistants: number;
}

/** The command; exits with 1 when there is an error. */
export function checkCommand(builder: Builder, checkers: readonly AppChecker[]): Command {
  return leaf<CommonFlags>(builder, {
    name: "check <dir>",
    text: "Check an app directory without pushing it: every problem with file and line.",
    examples: ["yao app check ./my-app", "yao app check . --json"],
    action: async (cli, args, flags) => {
      const { problems, assistants } = await checkDirectory(resolve(args[0] ?? "."), checkers);
      const counts = countOf(problems);
      const document = { ok: counts.errors === 0, assistants, ...counts, problems };
      print(cli, flags, document, () => report(problems, assistants));
      return counts.errors === 0 ? 0 : 1;
    },
  });
}

/** Reads and checks an app directory; throws only when there is none. */
export async function checkDirectory(directory: string, checkers: readonly AppChecker[]): Promise<CheckedApp> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new MeshError(
      "not_found",
      `${directory} is ${found === undefined ? "not there" : "not a directory"} — give the directory of an app, which holds assistants/NAME/package.yao`,
    );
  }
  const { checkApp, readAppDirectory } = await import("@mesh/assistants");
  const files = await readAppDirectory(directory);
  const { app, problems } = await checkApp(files, checkers);
  return { files, problems, assistants: app.assistants.size };
}

/** Shows problems beside what a command does. */
export function showProblems(cli: Cli, problems: readonly Problem[]): void {
  for (const problem of problems) cli.terminal.err(`${problemLine(problem)}\n`);
}

/** Whether a problem keeps an app from being pushed. */
export function isError(problem: Problem): boolean {
  return problem.severity === "error";
}

/** A number of assistants in words. */
export function countText(assistants: number): string {
  return counted(assistants, "assistant");
}

interface Counts {
  readonly errors: number;
  readonly warnings: number;
  readonly notes: number;
}

function countOf(problems: readonly Problem[]): Counts {
  const count = (severity: string): number => problems.filter((problem) => problem.severity === severity).length;
  return { errors: count("error"), warnings: count("warning"), notes: count("note") };
}

function report(problems: readonly Problem[], assistants: number): string {
  const lines = problems.map((problem) => `${problemLine(problem)}\n`).join("");
  return `${lines}${lines === "" ? "" : "\n"}${summary(problems, assistants)}\n`;
}

function summary(problems: readonly Problem[], assistants: number): string {
  const { errors, warnings, notes } = countOf(problems);
  const files = new Set(problems.map((problem) => problem.file)).size;
  const found = [
    ...(errors === 0 ? [] : [counted(errors, "error")]),
    ...(warnings === 0 ? [] : [counted(warnings, "warning")]),
    ...(notes === 0 ? [] : [counted(notes, "note")]),
  ].join(", ");
  const where = found === "" ? "" : `${found} in ${counted(files, "file")}`;
  if (errors > 0) return `${where}; mend the errors before you push (${countText(assistants)} without any)`;
  return `ok: ${countText(assistants)}${where === "" ? "" : `; ${where}`}`;
}

function problemLine({ file, line, message, severity }: Problem): string {
  const where = line > 0 ? `${file}:${line}` : file;
  return oneLine(`${where}: ${severity}: ${message}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
