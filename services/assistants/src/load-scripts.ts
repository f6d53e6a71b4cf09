/** Scripts: found and named, not parsed. */

import type { ScriptFile } from "./app.ts";
import type { Home, Loading } from "./loading.ts";

const SCRIPT_FILE = /^(.+)\.(?:ts|js)$/;

/** The scripts of a folder: `src/` of an assistant, `scripts/` of the app. */
export function loadScripts(loading: Loading, home: Home): readonly ScriptFile[] {
  const { assistantId } = home;
  const folder = assistantId === undefined ? "scripts" : `${home.base}src`;
  const prefix = assistantId === undefined ? "scripts." : home.prefix;
  return loading.paths.under(folder).flatMap((path): readonly ScriptFile[] => {
    const name = SCRIPT_FILE.exec(path.slice(folder.length + 1))?.[1];
    // Declarations hold no code.
    if (name === undefined || name.endsWith(".d")) return [];
    const id = loading.ids.scripts.claim(path, name, prefix);
    if (id === undefined) return [];
    if (assistantId === undefined) return [{ id, path, kind: isTest(name) ? "test" : "process" }];
    return [{ id, path, kind: name === "index" ? "hooks" : isTest(name) ? "test" : "process", assistantId }];
  });
}

function isTest(name: string): boolean {
  return name.endsWith("_test");
}
