/** Paths and sizes inside an app: what every way in (directory, bundle) enforces. */

import { MeshError } from "@mesh/kernel";

/** Bounds of an app. */
export interface AppLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
}

/** The bounds unless the caller gives narrower ones. */
export const APP_LIMITS: AppLimits = {
  maxFiles: 2000,
  maxFileBytes: 4 * 1024 * 1024,
  maxTotalBytes: 32 * 1024 * 1024,
};

/** Folders nested deeper than this are refused. */
export const MAX_PATH_DEPTH = 32;

const MAX_PATH_BYTES = 240;

/** Why this text cannot be the path of a file in an app; undefined when it can. */
export function pathFault(path: string): string | undefined {
  if (path === "") return "is empty";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) return "is absolute";
  if (path.includes("\\")) return "holds a backslash";
  if (hasControlCharacter(path)) return "holds a control character";
  if (/\p{Surrogate}/u.test(path)) return "is not well-formed Unicode";
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  const parts = path.split("/");
  if (parts.length > MAX_PATH_DEPTH) return `is nested more than ${MAX_PATH_DEPTH} folders deep`;
  if (parts.includes("..")) return 'holds ".."';
  if (parts.includes("") || parts.includes(".")) return "holds an empty part";
  return undefined;
}

/** Refuses a path that {@link pathFault} finds fault with. */
export function requireSafePath(path: string): void {
  const fault = pathFault(path);
  if (fault === undefined) return;
  const shown = JSON.stringify(path.length <= 120 ? path : `${path.slice(0, 120)}…`);
  throw new MeshError("invalid_argument", `the path ${shown} ${fault}; rename the file`);
}

/** Counts files and bytes and refuses the one that is too much. */
export class AppBudget {
  readonly #limits: AppLimits;
  #fileCount = 0;
  #totalBytes = 0;

  constructor(limits: AppLimits = APP_LIMITS) {
    this.#limits = limits;
  }

  /** Accounts for one file, before its content is held. */
  add(path: string, sizeBytes: number): void {
    const { maxFiles, maxFileBytes, maxTotalBytes } = this.#limits;
    this.#fileCount += 1;
    this.#totalBytes += sizeBytes;
    if (this.#fileCount > maxFiles) {
      throw new MeshError(
        "resource_exhausted",
        `the app has more than ${maxFiles} files; move what it does not need out of it`,
      );
    }
    if (sizeBytes > maxFileBytes) {
      throw new MeshError(
        "resource_exhausted",
        `${path} has ${sizeBytes} bytes; a file of an app may have ${maxFileBytes}`,
      );
    }
    if (this.#totalBytes > maxTotalBytes) {
      throw new MeshError(
        "resource_exhausted",
        `the app has more than ${maxTotalBytes} bytes in all; move large files out of it`,
      );
    }
  }
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
