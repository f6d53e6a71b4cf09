/** What `yao app check` and `yao app push` look at beyond the files themselves: whether scripts bundle, whether models make sense. */

import type { App, AppChecker, Problem } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";

// Of a problem that names its place in its text: `assistants/a/src/index.ts:3:7 …`.
const PLACE = /^(?<file>[^:;]+):(?<line>\d+):\d+ (?<message>[^]*)$/;

/** Every script as the device will bundle it. */
export const scriptChecker: AppChecker = async (app) => {
  if (app.scripts.size === 0) return [];
  const { ScriptBundler } = await import("@mesh/scripts");
  const bundler = new ScriptBundler();
  const reader = { read: (path: string): string | undefined => app.file(path) };
  const found: Problem[] = [];
  for (const { path } of app.scripts.values()) {
    try {
      await bundler.bundle(reader, path);
    } catch (error) {
      found.push(placed(path, MeshError.from(error).message));
    }
  }
  return found;
};

/** Every model, and what they say of each other. */
export const modelChecker: AppChecker = async (app: App) => {
  if (app.models.size === 0) return [];
  const { loadCatalog } = await import("@mesh/models");
  const files = [...app.models.values()].map(({ path }) => ({ path, text: app.file(path) ?? "" }));
  return loadCatalog(files).problems.map(({ path, line = 0, message, severity }) => ({
    file: path,
    line,
    message,
    severity,
  }));
};

function placed(path: string, text: string): Problem {
  const { file = path, line = "0", message = text } = PLACE.exec(text)?.groups ?? {};
  return { file, line: Number(line), message, severity: "error" };
}
