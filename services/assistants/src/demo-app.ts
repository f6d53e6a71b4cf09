/** The demo app that a new system starts with. */

import { fileURLToPath } from "node:url";

/** Directory of the demo app; it stands beside src and dist, so that it is found from both. */
export const demoAppDirectory: string = fileURLToPath(new URL("../demo-app", import.meta.url));
