/** The app of an eval with the files that its cases name, packed for devices. */

import { readFile } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import type { Bundle } from "@mesh/assistants";
import type { RemoteSuite } from "@mesh/eval/local";
import { errorText, MeshError } from "@mesh/kernel";

/** Where devices look for the files of cases. */
const FIXTURES = "evals/files";

/** Packs them; throws for a file that lies where no device would find it. */
export async function packEval({ root, cases, baseDir }: RemoteSuite): Promise<Bundle> {
  const { bundleApp } = await import("@mesh/assistants");
  const { fileSources, readEvalApp } = await import("@mesh/eval/local");
  const files = new Map(await readEvalApp(root));
  for (const source of fileSources(cases)) {
    const path = placeOf(source, baseDir);
    files.set(`${FIXTURES}/${path}`, await bytesOf(resolve(baseDir, path), source));
  }
  return bundleApp(files);
}

function placeOf(source: string, baseDir: string): string {
  const given = source.slice("file://".length);
  const absolute = isAbsolute(given);
  const path = relative(
    baseDir,
    absolute ? (source.includes("%") ? fileURLToPath(source) : given) : resolve(baseDir, given),
  );
  if (!absolute && path !== ".." && !path.startsWith(`..${sep}`)) return path.split(sep).join("/").normalize("NFC");
  throw new MeshError(
    "invalid_argument",
    `${source} does not travel to devices: put the file below ${baseDir}, and name it from there`,
  );
}

async function bytesOf(path: string, source: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    throw new MeshError("not_found", `${source} cannot be read: ${errorText(error)}`, { cause: error });
  }
}
