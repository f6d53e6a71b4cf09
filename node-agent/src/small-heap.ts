/**
 * Imported first by the process's entry: what the command line's flags do, where they are missing, as far as V8 still
 * takes them. Measured, it saves about 15 MB.
 */

import { setFlagsFromString } from "node:v8";

setFlagsFromString("--optimize-for-size");
setFlagsFromString("--max-semi-space-size=1");
