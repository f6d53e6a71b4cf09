/** The model files of an app, for the package that understands them. */

import type { App } from "@mesh/assistants";
import type { ModelFile } from "@mesh/models";

/** The texts of all models of an app. */
export function modelFiles(app: App): readonly ModelFile[] {
  return [...app.models.values()].map(({ path }) => ({ path, text: app.file(path) ?? "" }));
}
