/** Rows of FileService and DocumentService. */

import {
  CopyFileRequest,
  CreateUploadRequest,
  DeleteDocumentRequest,
  DeleteFileRequest,
  DownloadFileRequest,
  GetDocumentRequest,
  ListDocumentsRequest,
  ListFilesRequest,
  MoveFileRequest,
  ReadFileRequest,
  ReindexDocumentRequest,
  SearchDocumentsRequest,
  UploadDocumentRequest,
  WriteFileRequest,
} from "@mesh/proto";
import { z } from "zod";

import { optionalInt, optionalText, reference, required } from "./field.ts";
import type { DocumentApi, FileApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

/** The largest file that is written or uploaded in one call. */
export const MAX_CONTENT_BYTES: number = 32 * 1024 * 1024;

const MAX_PATH = 1_024;
const path = required(MAX_PATH);
const node = optionalText(200);
const content = z
  .instanceof(Buffer, { error: "must be the bytes of a file" })
  .refine((bytes) => bytes.length <= MAX_CONTENT_BYTES, "is larger than 32 MB");
const byDocument = z.strictObject({ document: reference });
const hash = z.string().regex(/^([0-9a-f]{64}|none|)$/, 'must be a hash as files have it, or "none"');

/** What FileService accepts, and where. */
export const FILE_ROWS: { readonly [M in keyof FileApi]: OperationRow<Parameters<FileApi[M]>[0]> } = {
  listFiles: row("GET /v1/workspaces/{workspace}/files", {
    scope: "read",
    summary: "Lists a directory, or searches by words of the path, on all devices, those that are off included.",
    input: z.strictObject({
      workspace: reference,
      path: optionalText(MAX_PATH),
      node,
      query: optionalText(200),
      recursive: z.boolean("must be true or false").optional(),
      limit: optionalInt(0, 1_000),
      cursor: optionalText(4_000),
    }),
    message: ListFilesRequest,
  }),
  readFile: row("GET /v1/workspaces/{workspace}/files/part", {
    scope: "read",
    summary: "Reads a part of a file from an online device.",
    input: z.strictObject({
      workspace: reference,
      path,
      node,
      offset: optionalInt(0, 2 ** 40),
      limit: optionalInt(0, 524_288),
    }),
    message: ReadFileRequest,
  }),
  downloadFile: row(
    "GET /v1/workspaces/{workspace}/files/content",
    {
      scope: "read",
      summary: "Streams a whole file; over HTTP with ETag and Range.",
      input: z.strictObject({ workspace: reference, path, node }),
      message: DownloadFileRequest,
    },
    { streaming: true },
  ),
  writeFile: row(
    "PUT /v1/workspaces/{workspace}/files/content",
    {
      scope: "files",
      summary: "Writes a file on a device, whole or not at all.",
      input: z.strictObject({ workspace: reference, path, node, bytes: content, if_hash: hash.optional() }),
      message: WriteFileRequest,
    },
    { rawBody: "bytes" },
  ),
  moveFile: row("POST /v1/workspaces/{workspace}/files/move", {
    scope: "files",
    summary: "Renames a file or directory on its device.",
    input: z.strictObject({ workspace: reference, path, node, to: path }),
    message: MoveFileRequest,
  }),
  copyFile: row("POST /v1/workspaces/{workspace}/files/copy", {
    scope: "files",
    summary: "Copies a file from one device to another.",
    input: z.strictObject({
      workspace: reference,
      path,
      node,
      to_node: optionalText(200),
      to_path: optionalText(MAX_PATH),
    }),
    message: CopyFileRequest,
  }),
  deleteFile: row("DELETE /v1/workspaces/{workspace}/files", {
    scope: "files",
    summary: "Deletes a file, or an empty directory, on a device.",
    input: z.strictObject({ workspace: reference, path, node }),
    message: DeleteFileRequest,
  }),
};

/** What DocumentService accepts, and where. */
export const DOCUMENT_ROWS: { readonly [M in keyof DocumentApi]: OperationRow<Parameters<DocumentApi[M]>[0]> } = {
  uploadDocument: row(
    "POST /v1/workspaces/{workspace}/documents",
    {
      scope: "files",
      summary: "Stores a file as a document; one of the same name gets a new version.",
      input: z.strictObject({ workspace: reference, name: required(255), bytes: content }),
      message: UploadDocumentRequest,
    },
    { successStatus: 201, rawBody: "bytes" },
  ),
  listDocuments: row("GET /v1/workspaces/{workspace}/documents", {
    scope: "read",
    summary: "Lists the documents of a workspace, the newest first.",
    input: z.strictObject({ workspace: reference, limit: optionalInt(0, 200), cursor: optionalText(200) }),
    message: ListDocumentsRequest,
  }),
  getDocument: row("GET /v1/documents/{document}", {
    scope: "read",
    summary: "Reads a document with its last known text, also while its device is off.",
    input: byDocument,
    message: GetDocumentRequest,
  }),
  deleteDocument: row("DELETE /v1/documents/{document}", {
    scope: "files",
    summary: "Removes a document with its text and all its versions; a file on a device stays.",
    input: byDocument,
    message: DeleteDocumentRequest,
  }),
  reindexDocument: row("POST /v1/documents/{document}/reindex", {
    scope: "files",
    summary: "Reads the text of a document and indexes it again.",
    input: byDocument,
    message: ReindexDocumentRequest,
  }),
  searchDocuments: row("GET /v1/workspaces/{workspace}/documents/search", {
    scope: "read",
    summary: "Finds passages by words, the best first.",
    input: z.strictObject({ workspace: reference, query: required(1_000), limit: optionalInt(0, 50) }),
    message: SearchDocumentsRequest,
  }),
  createUpload: row(
    "POST /v1/workspaces/{workspace}/uploads",
    {
      scope: "files",
      summary: "Stores a file that goes with a message; kept for 30 days.",
      input: z.strictObject({ workspace: reference, name: required(255), bytes: content }),
      message: CreateUploadRequest,
    },
    { successStatus: 201, rawBody: "bytes" },
  ),
};
