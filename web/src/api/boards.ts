/** Boards and their columns: one constant per call of the API. */

import type {
  CreateBoardRequest,
  CreateBoardResponse,
  DeleteBoardRequest,
  DeleteBoardResponse,
  GetBoardRequest,
  GetBoardResponse,
  ListBoardsRequest,
  ListBoardsResponse,
  UpdateBoardRequest,
  UpdateBoardResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Create board. */
export const createBoard = endpoint<CreateBoardRequest, CreateBoardResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/boards",
);

/** ; a workspace always has one. */
export const listBoards = endpoint<ListBoardsRequest, ListBoardsResponse>()("GET", "/v1/workspaces/{workspace}/boards");

/** Reads a board with its columns and how many tasks each holds. */
export const getBoard = endpoint<GetBoardRequest, GetBoardResponse>()("GET", "/v1/boards/{board}");

/** Renames a board or replaces its columns; a stale revision is refused. */
export const updateBoard = endpoint<UpdateBoardRequest, UpdateBoardResponse>()("PATCH", "/v1/boards/{board}");

/** Deletes a board without tasks. */
export const deleteBoard = endpoint<DeleteBoardRequest, DeleteBoardResponse>()("DELETE", "/v1/boards/{board}");
