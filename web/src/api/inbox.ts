/** What needs a person, and the changes of a workspace: one constant per call of the API. */

import type {
  ListFeedRequest,
  ListFeedResponse,
  ListInboxRequest,
  ListInboxResponse,
  MarkInboxRequest,
  MarkInboxResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Lists what needs the caller, what failed and what was done; newest first. */
export const listInbox = endpoint<ListInboxRequest, ListInboxResponse>()("GET", "/v1/inbox");

/** Marks entries as read or archived. */
export const markInbox = endpoint<MarkInboxRequest, MarkInboxResponse>()("POST", "/v1/inbox");

/** Reads a page of changes. */
export const listFeed = endpoint<ListFeedRequest, ListFeedResponse>()("GET", "/v1/workspaces/{workspace}/feed");
