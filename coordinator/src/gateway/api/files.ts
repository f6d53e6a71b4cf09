/** Handlers of the files of workspaces, of documents and of uploads. */

import type {
  CopyFileRequest,
  CopyFileResponse,
  CreateUploadRequest,
  CreateUploadResponse,
  DeleteDocumentRequest,
  DeleteDocumentResponse,
  DeleteFileRequest,
  DeleteFileResponse,
  DownloadFileRequest,
  DownloadFileResponse,
  GetDocumentRequest,
  GetDocumentResponse,
  ListDocumentsRequest,
  ListDocumentsResponse,
  ListFilesRequest,
  ListFilesResponse,
  MoveFileRequest,
  MoveFileResponse,
  ReadFileRequest,
  ReadFileResponse,
  ReindexDocumentRequest,
  ReindexDocumentResponse,
  SearchDocumentsRequest,
  SearchDocumentsResponse,
  UploadDocumentRequest,
  UploadDocumentResponse,
  WriteFileRequest,
  WriteFileResponse,
} from "@mesh/proto";

import type { Streaming, Unary } from "../operation.ts";

/** Handlers of FileService. */
export interface FileApi {
  readonly listFiles: Unary<ListFilesRequest, ListFilesResponse>;
  readonly readFile: Unary<ReadFileRequest, ReadFileResponse>;
  readonly downloadFile: Streaming<DownloadFileRequest, DownloadFileResponse>;
  readonly writeFile: Unary<WriteFileRequest, WriteFileResponse>;
  readonly moveFile: Unary<MoveFileRequest, MoveFileResponse>;
  readonly copyFile: Unary<CopyFileRequest, CopyFileResponse>;
  readonly deleteFile: Unary<DeleteFileRequest, DeleteFileResponse>;
}

/** Handlers of DocumentService. */
export interface DocumentApi {
  readonly uploadDocument: Unary<UploadDocumentRequest, UploadDocumentResponse>;
  readonly listDocuments: Unary<ListDocumentsRequest, ListDocumentsResponse>;
  readonly getDocument: Unary<GetDocumentRequest, GetDocumentResponse>;
  readonly deleteDocument: Unary<DeleteDocumentRequest, DeleteDocumentResponse>;
  readonly reindexDocument: Unary<ReindexDocumentRequest, ReindexDocumentResponse>;
  readonly searchDocuments: Unary<SearchDocumentsRequest, SearchDocumentsResponse>;
  readonly createUpload: Unary<CreateUploadRequest, CreateUploadResponse>;
}
