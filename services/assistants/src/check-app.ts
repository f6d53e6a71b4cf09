/** Everything that can be said about an app before it is pushed: what loading finds, and what further checkers find. */

import type { App, AppFiles, LoadedApp, Problem } from "./app.ts";
import { loadApp } from "./load-app.ts";
import { sortProblems } from "./problem-log.ts";

/** Finds problems in what this package only locates, such as scripts and models. */
export type AppChecker = (app: App, files: AppFiles) => readonly Problem[] | Promise<readonly Problem[]>;

/** Loads an app and runs the checkers over what could be loaded; problems come sorted by file and line. */
export async function checkApp(files: AppFiles, checkers: readonly AppChecker[] = []): Promise<LoadedApp> {
  const { app, problems } = loadApp(files);
  const further = await Promise.all(checkers.map(async (checker) => checker(app, files)));
  return { app, problems: sortProblems([...problems, ...further.flat()]) };
}
