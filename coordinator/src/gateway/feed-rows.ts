/** Rows of FeedService. */

import { FollowFeedRequest, ListFeedRequest } from "@mesh/proto";
import { z } from "zod";

import { optionalInt, reference } from "./field.ts";
import type { FeedApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const MAX_SEQ = 2 ** 31 - 1;

/** What FeedService accepts, and where. */
export const FEED_ROWS: { readonly [M in keyof FeedApi]: OperationRow<Parameters<FeedApi[M]>[0]> } = {
  followFeed: row(
    "GET /v1/workspaces/{workspace}/feed",
    {
      scope: "read",
      summary: "Streams the changes of a workspace after a cursor, without end.",
      input: z.strictObject({ workspace: reference, after_seq: optionalInt(0, MAX_SEQ) }),
      message: FollowFeedRequest,
    },
    { streaming: true },
  ),
  listFeed: row("GET /v1/workspaces/{workspace}/feed", {
    scope: "read",
    summary: "Reads a page of changes.",
    input: z.strictObject({ workspace: reference, after_seq: optionalInt(0, MAX_SEQ), limit: optionalInt(0, 1000) }),
    message: ListFeedRequest,
  }),
};
