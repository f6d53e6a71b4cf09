/** What a person gives as text: itself, `@FILE`, or `-` for standard input. */

import { readFile, stat } from "node:fs/promises";

import { MeshError } from "@mesh/kernel";

import type { Cli } from "../cli.ts";
import { fileErrorText } from "../file-error.ts";

const MAX_INPUT_BYTES = 1024 * 1024;

/** Reads it; at most 1 MB. */
export async function inputText(cli: Cli, text: string): Promise<string> {
  if (text === "-") return await cli.terminal.readAll(MAX_INPUT_BYTES);
  if (!text.startsWith("@") || text.length === 1) return text;
  const path = text.slice(1);
  try {
    const { size } = await stat(path);
    if (size > MAX_INPUT_BYTES) {
      throw new MeshError("resource_exhausted", `${path} is larger than 1 MB — send a part of it`);
    }
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw new MeshError("not_found", `${path} cannot be read: ${fileErrorText(error)} — check the name after the @`);
  }
}
