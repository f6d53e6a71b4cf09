/** What the file tools share: their options, and errors of the file system in words a model can act on. */

import type { JsonObject } from "@mesh/kernel";

import { toolFailed, toolNotFound } from "../tool.ts";
import type { FileLedger } from "./file-ledger.ts";
import type { PathSandbox } from "./sandbox.ts";

/** Where file tools work. */
export interface FileToolOptions {
  readonly sandbox: PathSandbox;
  readonly ledger?: FileLedger;
}

/** The path argument of a call. */
export function pathOf(args: JsonObject): string {
  return typeof args["path"] === "string" ? args["path"] : ".";
}

/** An error of the file system, as the model should read it. */
export function fileError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ENOENT":
      return toolNotFound(`${path} does not exist`);
    case "EISDIR":
      return toolFailed(`${path} is a folder`);
    case "ENOTDIR":
      return toolFailed(`a part of ${path} is not a folder`);
    case "EACCES":
    case "EPERM":
      return toolFailed(`${path} may not be accessed by this user`);
    case "ENOSPC":
      return toolFailed("the disk is full");
    case "ELOOP":
      return toolFailed(`${path} is a link, or became one while it was opened`);
    default:
      return error;
  }
}
