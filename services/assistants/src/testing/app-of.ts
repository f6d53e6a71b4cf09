/** Apps written down in tests. */

import type { App, AppFiles, Problem } from "../app.ts";
import { loadApp } from "../load-app.ts";

const encoder = new TextEncoder();

/** Files by path; values that are not text are written as JSON. */
export function filesOf(files: Readonly<Record<string, unknown>>): AppFiles {
  return new Map(
    Object.entries(files).map(([path, content]) => [
      path,
      content instanceof Uint8Array
        ? content
        : encoder.encode(typeof content === "string" ? content : JSON.stringify(content)),
    ]),
  );
}

/** A loaded app and its findings as `severity file:line message`. */
export interface Loaded {
  readonly app: App;
  readonly findings: readonly string[];
}

/** Loads files, with a good assistant `a` besides unless they say otherwise. */
export function load(files: Readonly<Record<string, unknown>>): Loaded {
  const { app, problems } = loadApp(filesOf({ "assistants/a/package.yao": '{"name": "A"}', ...files }));
  return { app, findings: problems.map(show) };
}

/** One finding on one line. */
export function show({ severity, file, line, message }: Problem): string {
  return `${severity} ${file}:${line} ${message}`;
}
