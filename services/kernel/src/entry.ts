/** Whether a module is the program itself or was imported by one. */

import { realpathSync } from "node:fs";

/** True when Node was started with this file; `filename` is the module's `import.meta.filename`. */
export function isEntry(filename: string): boolean {
  try {
    // The command may be a link, as those of npm are.
    return process.argv[1] !== undefined && realpathSync(process.argv[1]) === filename;
  } catch {
    return false;
  }
}
