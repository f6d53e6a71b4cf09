/** Writes docs/schemas: `npm run gen -w @mesh/assistants`. */

import { mkdir, writeFile } from "node:fs/promises";

import { schemaFiles } from "./schema-files.ts";

const folder = new URL("../../../../docs/schemas/", import.meta.url);

await mkdir(folder, { recursive: true });
for (const [name, text] of schemaFiles()) await writeFile(new URL(name, folder), text);
