/** The credential file of a device (`<home>/cli.json`, 0600): which coordinator the command line talks to, and as whom. */

import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { isObject, MeshError } from "@mesh/kernel";

import { makeDataDirectory } from "../file-error.ts";

/** What is remembered between commands. */
export interface Credential {
  readonly url: string;
  readonly token?: string;
  readonly workspace?: string;
}

/** Path of the credential file of a data directory. */
export function credentialPath(home: string): string {
  return join(home, "cli.json");
}

/** Reads the file; undefined when there is none. */
export function readCredential(home: string): Credential | undefined {
  const path = credentialPath(home);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new MeshError("permission_denied", `${path} cannot be read — check who owns it`, { cause: error });
  }
  const parsed = parse(text);
  if (parsed === undefined) {
    throw new MeshError("failed_precondition", `${path} is damaged — remove it and log in again with \`yao login\``);
  }
  return parsed;
}

/** Writes the file so that only its owner can read it, and a crash leaves the old one or the new one. */
export function writeCredential(home: string, credential: Credential): void {
  writePrivateFile(home, "cli.json", `${JSON.stringify(credential, null, 2)}\n`);
}

/** Forgets everything. */
export function removeCredential(home: string): void {
  rmSync(credentialPath(home), { force: true });
}

/** Writes a 0600 file inside `directory`, atomically. */
export function writePrivateFile(directory: string, name: string, text: string): void {
  makeDataDirectory(directory);
  const path = join(directory, name);
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, text, { mode: 0o600 });
  chmodSync(temporary, 0o600);
  renameSync(temporary, path);
}

function parse(text: string): Credential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || typeof value["url"] !== "string") return undefined;
  const { token, workspace } = value;
  return {
    url: value["url"],
    ...(typeof token === "string" ? { token } : {}),
    ...(typeof workspace === "string" ? { workspace } : {}),
  };
}
