/** Documents and uploads: one constant per call of the API. */

import type {
  CreateUploadRequest,
  CreateUploadResponse,
  DeleteDocumentRequest,
  DeleteDocumentResponse,
  GetDocumentRequest,
  GetDocumentResponse,
  ListDocumentsRequest,
  ListDocumentsResponse,
  ReindexDocumentRequest,
  ReindexDocumentResponse,
  SearchDocumentsRequest,
  SearchDocumentsResponse,
  UploadDocumentRequest,
  UploadDocumentResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Stores a file as a document. */
export const uploadDocument = endpoint<UploadDocumentRequest, UploadDocumentResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/documents",
);

/** Lists the newest versions. */
export const listDocuments = endpoint<ListDocumentsRequest, ListDocumentsResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/documents",
);

/** Reads a document with its last known text. */
export const getDocument = endpoint<GetDocumentRequest, GetDocumentResponse>()("GET", "/v1/documents/{document}");

/** Removes a document with all its versions from the index. */
export const deleteDocument = endpoint<DeleteDocumentRequest, DeleteDocumentResponse>()(
  "DELETE",
  "/v1/documents/{document}",
);

/** Extracts and indexes a document again. */
export const reindexDocument = endpoint<ReindexDocumentRequest, ReindexDocumentResponse>()(
  "POST",
  "/v1/documents/{document}/reindex",
);

/** Finds passages by words. */
export const searchDocuments = endpoint<SearchDocumentsRequest, SearchDocumentsResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/documents/search",
);

/** Stores a file that goes with a message. */
export const createUpload = endpoint<CreateUploadRequest, CreateUploadResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/uploads",
);
