/** Files of a workspace on its devices: one constant per call of the API. */

import type {
  CopyFileRequest,
  CopyFileResponse,
  DeleteFileRequest,
  DeleteFileResponse,
  ListFilesRequest,
  ListFilesResponse,
  MoveFileRequest,
  MoveFileResponse,
  ReadFileRequest,
  ReadFileResponse,
  WriteFileRequest,
  WriteFileResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Lists a directory, or searches, in the index: devices that are off included. */
export const listFiles = endpoint<ListFilesRequest, ListFilesResponse>()("GET", "/v1/workspaces/{workspace}/files");

/** Reads a part of a file from an online device. */
export const readFile = endpoint<ReadFileRequest, ReadFileResponse>()("GET", "/v1/workspaces/{workspace}/files/part");

/** Writes a file on a device, whole or not at all. */
export const writeFile = endpoint<WriteFileRequest, WriteFileResponse>()(
  "PUT",
  "/v1/workspaces/{workspace}/files/content",
);

/** Renames a file on its device. */
export const moveFile = endpoint<MoveFileRequest, MoveFileResponse>()("POST", "/v1/workspaces/{workspace}/files/move");

/** Copies a file from one device to another. */
export const copyFile = endpoint<CopyFileRequest, CopyFileResponse>()("POST", "/v1/workspaces/{workspace}/files/copy");

/** Deletes a file, or an empty directory, on a device. */
export const deleteFile = endpoint<DeleteFileRequest, DeleteFileResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/files",
);
