/** Apps and assistants: one constant per call of the API. */

import type {
  GetAppRequest,
  GetAppResponse,
  GetAssistantRequest,
  GetAssistantResponse,
  ListAppsRequest,
  ListAppsResponse,
  ListAssistantsRequest,
  ListAssistantsResponse,
  PushAppRequest,
  PushAppResponse,
  RemoveAppRequest,
  RemoveAppResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Validates a bundle and makes it the newest version of an app. */
export const pushApp = endpoint<PushAppRequest, PushAppResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/apps/{app}/versions",
);

/** List apps. */
export const listApps = endpoint<ListAppsRequest, ListAppsResponse>()("GET", "/v1/workspaces/{workspace}/apps");

/** Reads one app with its versions. */
export const getApp = endpoint<GetAppRequest, GetAppResponse>()("GET", "/v1/workspaces/{workspace}/apps/{app}");

/** Removes an app; runs that started keep their bundle. */
export const removeApp = endpoint<RemoveAppRequest, RemoveAppResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/apps/{app}",
);

/** Lists the assistants of all apps of a workspace. */
export const listAssistants = endpoint<ListAssistantsRequest, ListAssistantsResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/assistants",
);

/** Reads one assistant. */
export const getAssistant = endpoint<GetAssistantRequest, GetAssistantResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/assistants/{assistant}",
);
