/** Secrets come from a prompt without echo, a file, an environment variable or standard input; trailing line ends are not part of them. */

import { readFile } from "node:fs/promises";

import { MeshError } from "@mesh/kernel";

import type { Environment } from "../config.ts";
import { fileErrorText } from "../file-error.ts";
import type { Terminal } from "./terminal.ts";

/** Where a secret may come from; the first one given wins. */
export interface SecretSource {
  /** For people: "the key". */
  readonly what: string;
  readonly question: string;
  readonly value?: string;
  readonly file?: string;
  readonly variable?: string;
  readonly isStdin?: boolean;
  /** What to do when there is no terminal to ask at. */
  readonly advice: string;
}

const MAX_BYTES = 64 * 1024;

/** Reads a secret; empty ones are refused. */
export async function readSecret(
  from: { readonly terminal: Terminal; readonly env: Environment },
  source: SecretSource,
): Promise<string> {
  const secret = (await rawSecret(from, source)).replace(/[\r\n]+$/, "");
  if (secret === "") throw new MeshError("invalid_argument", `${source.what} is empty — ${source.advice}`);
  if (secret.length > MAX_BYTES)
    throw new MeshError("invalid_argument", `${source.what} is too long — ${source.advice}`);
  return secret;
}

async function rawSecret(
  { terminal, env }: { readonly terminal: Terminal; readonly env: Environment },
  source: SecretSource,
): Promise<string> {
  if (source.value !== undefined) return source.value;
  if (source.file !== undefined) return await readSecretFile(source.file, source.what);
  if (source.variable !== undefined) {
    const value = env[source.variable];
    if (value !== undefined && value !== "") return value;
    throw new MeshError("invalid_argument", `${source.variable} is not set — export it first`);
  }
  if (source.isStdin === true) return await terminal.readAll(MAX_BYTES);
  if (terminal.canAsk) return await terminal.ask(source.question);
  throw new MeshError(
    "invalid_argument",
    `${source.what} is missing and there is no terminal to ask at — ${source.advice}`,
  );
}

async function readSecretFile(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new MeshError("not_found", `${what} cannot be read from ${path}: ${fileErrorText(error)} — check the path`, {
      cause: error,
    });
  }
}
