/** What went wrong with a file, in words: the system's own name the device's folders. */

import { MeshError } from "@mesh/kernel";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file on this device",
  ENOTDIR: "a part of the path is a file",
  EISDIR: "it is a directory",
  ENOTEMPTY: "the directory is not empty; delete what is in it first",
  EEXIST: "there is a file of that name",
  ENOSPC: "the disk of the device is full",
  EDQUOT: "the disk quota of the device is used up",
  EACCES: "the device does not allow it",
  EPERM: "the device does not allow it",
  EROFS: "the device does not allow it",
  EBUSY: "it is in use",
  EMFILE: "the device has too many files open; try again",
  ENAMETOOLONG: "the name is too long for the device",
  ELOOP: "a link stands in the way",
  ENXIO: "it is not a file",
};

/** The error for the other side. */
export function fileFailure(path: string, error: unknown): unknown {
  if (error instanceof MeshError) {
    if (error.code !== "permission_denied") return error;
    return new MeshError("permission_denied", `${path} leads out of the workspace's directory`);
  }
  const { code: errno } = error as NodeJS.ErrnoException;
  if (errno === undefined) return error;
  const reason = REASONS[errno] ?? `the device refused it (${errno})`;
  const isMissing = errno === "ENOENT" || errno === "ENOTDIR";
  return new MeshError(isMissing ? "not_found" : "failed_precondition", `${path}: ${reason}`, { cause: error });
}
