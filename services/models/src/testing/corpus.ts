/** Model files of public apps, for tests; none where the folder is absent. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { ModelFile } from "../catalog.ts";

const shared = process.env["YAO_SHARED_DIR"] ?? resolve(import.meta.dirname, "../../../../../shared");
const corpus = join(shared, "corpus");

/** Whether the folder is there; says so when it is not. */
export const hasCorpus: boolean = existsSync(corpus);
if (!hasCorpus)
  console.warn(`skipped: the public apps are not at ${corpus}; set YAO_SHARED_DIR to the folder that holds them`);

/** The model files of each public app, by the app's folder. Files outside of a models folder are taken as the app's own. */
export function corpusModels(): ReadonlyMap<string, readonly ModelFile[]> {
  const apps = new Map<string, ModelFile[]>();
  if (!hasCorpus) return apps;
  const paths = readdirSync(corpus, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".mod.yao"));
  for (const path of paths.toSorted()) {
    const [, app = "", inApp = ""] = /^(.*?)\/((?:assistants|models)\/.*)$/.exec(path) ?? [];
    const isModel = inApp.startsWith("models/") || /^assistants\/.+\/models\//.test(inApp);
    const place = isModel ? inApp : `models/stray/${inApp.replace(/\.mod\.yao$/, "").replaceAll(/[/.]/g, "_")}.mod.yao`;
    apps.set(app, [...(apps.get(app) ?? []), { path: place, text: readFileSync(join(corpus, path), "utf8") }]);
  }
  return apps;
}
