/** Model files: found and parsed, not understood. */

import type { ModelFile } from "./app.ts";
import type { Home, Loading } from "./loading.ts";
import { plainObject } from "./source-node.ts";

const MODEL_FILE = /^(.+)\.mod\.yao$/;

/** The models of a folder. */
export function loadModels(loading: Loading, home: Home): readonly ModelFile[] {
  const folder = `${home.base}models`;
  return loading.paths.under(folder).flatMap((path) => {
    const match = MODEL_FILE.exec(path.slice(folder.length + 1));
    if (match === null) return [];
    const id = loading.ids.models.claim(path, match[1] ?? "", home.prefix);
    const root = loading.source.json(path);
    if (id === undefined || root === undefined) return [];
    if (root.kind !== "object") {
      loading.log.error(path, root.line, "a model file must be an object");
      return [];
    }
    return [{ id, path, ...ownerOf(home), source: plainObject(root) }];
  });
}

function ownerOf({ assistantId }: Home): { readonly assistantId?: string } {
  return assistantId === undefined ? {} : { assistantId };
}
