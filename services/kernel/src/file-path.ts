/**
 * Paths of files in a workspace, as they travel: with slashes, relative to the workspace's directory. Pure.
 *
 * The device judges every path again by where it really leads; here a path that could mean something else on another system, or
 * that people could not tell from another, is refused with what to do.
 */

import { MeshError } from "./errors.ts";

const MAX_PATH_CHARS = 1_024;
const MAX_NAME_BYTES = 255;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f\u2028\u2029]/;

/** The path in its one form; `allowTop` lets it be empty, which means the workspace's directory. Throws `invalid_argument`. */
export function filePath(given: string, { allowTop = false }: { readonly allowTop?: boolean } = {}): string {
  if (CONTROL.test(given)) throw refused("a path holds no control characters");
  if (given.length > MAX_PATH_CHARS) throw refused(`a path has at most ${MAX_PATH_CHARS} characters`);
  if (given.includes("\\")) throw refused(`write ${shown(given)} with slashes (/), not backslashes`);
  if (given.startsWith("/") || given.startsWith("~") || /^[A-Za-z]:(\/|$)/.test(given)) {
    throw refused(`${shown(given)} is outside of the workspace: give a path relative to its directory`);
  }
  // The same text in another form must not be another file.
  const names = given.normalize("NFC").split("/");
  const kept = names.filter((name) => name !== "" && name !== ".");
  if (kept.includes("..")) throw refused(`${shown(given)} is outside of the workspace: leave the .. out`);
  if (kept.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    throw refused(`a name in the path is longer than ${MAX_NAME_BYTES} bytes`);
  }
  if (kept.length === 0 && !allowTop) throw refused("name a file of the workspace, such as docs/report.md");
  return kept.join("/");
}

function shown(path: string): string {
  return path.length > 100 ? `${path.slice(0, 100)}…` : path;
}

function refused(text: string): MeshError {
  return new MeshError("invalid_argument", text);
}
