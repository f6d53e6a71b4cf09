/** A text given to a command: as it is, as `@FILE`, or as `-` for standard input. */

import { readFile, stat } from "node:fs/promises";

import { MeshError } from "@mesh/kernel";

import type { Cli } from "./cli.ts";
import { fileErrorText } from "./file-error.ts";

const KB = 1024;

/** The largest text that a run or a task is given. */
export const MAX_INPUT_BYTES: number = KB * KB;

/**
 * The text that is meant; `@` alone is a text.
 * @throws MeshError `not_found` for a file that cannot be read, `resource_exhausted` for more than `maxBytes`
 */
export async function givenText(cli: Pick<Cli, "terminal">, given: string, maxBytes: number): Promise<string> {
  if (given === "-") return await cli.terminal.readAll(maxBytes);
  if (!given.startsWith("@") || given.length === 1) return given;
  const path = given.slice(1);
  try {
    if ((await stat(path)).size <= maxBytes) return await readFile(path, "utf8");
  } catch (error) {
    throw new MeshError("not_found", `${path} cannot be read: ${fileErrorText(error)} — check the name after the @`);
  }
  throw new MeshError("resource_exhausted", `${path} is larger than ${sizeText(maxBytes)} — send a part of it`);
}

function sizeText(bytes: number): string {
  return bytes < KB * KB ? `${bytes / KB} KB` : `${bytes / KB / KB} MB`;
}
