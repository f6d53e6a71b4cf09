/** The demo app that a new system starts with. */

import { existsSync } from "node:fs";
import { join } from "node:path";

/** Directory of the demo app; it stands beside src and dist, so that it is found from both, and from what is bundled in dist. */
export const demoAppDirectory: string =
  ["../demo-app", "../../demo-app"].map((path) => join(import.meta.dirname, path)).find((path) => existsSync(path)) ??
  join(import.meta.dirname, "../demo-app");
