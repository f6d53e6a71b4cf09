/** Handlers of FeedService. */

import type { FollowFeedRequest, FollowFeedResponse, ListFeedRequest, ListFeedResponse } from "@mesh/proto";

import type { Streaming, Unary } from "../operation.ts";

/** Handlers of FeedService. */
export interface FeedApi {
  /** Without end; a workspace that is deleted or closed to the caller ends it with `not_found`. */
  readonly followFeed: Streaming<FollowFeedRequest, FollowFeedResponse>;
  readonly listFeed: Unary<ListFeedRequest, ListFeedResponse>;
}
