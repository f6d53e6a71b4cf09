/** Runs and their events: one constant per call of the API. */

import type {
  AnswerRunRequest,
  AnswerRunResponse,
  CancelRunRequest,
  CancelRunResponse,
  CreateRunRequest,
  CreateRunResponse,
  GetRunRequest,
  GetRunResponse,
  ListRunEventsRequest,
  ListRunEventsResponse,
  ListRunsRequest,
  ListRunsResponse,
  RetryRunRequest,
  RetryRunResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Queues a run and tries to place it at once. */
export const createRun = endpoint<CreateRunRequest, CreateRunResponse>()("POST", "/v1/workspaces/{workspace}/runs");

/** Lists the newest first. */
export const listRuns = endpoint<ListRunsRequest, ListRunsResponse>()("GET", "/v1/workspaces/{workspace}/runs");

/** Reads one run with its placement explanation. */
export const getRun = endpoint<GetRunRequest, GetRunResponse>()("GET", "/v1/runs/{run}");

/** Asks a run to stop; idempotent. */
export const cancelRun = endpoint<CancelRunRequest, CancelRunResponse>()("POST", "/v1/runs/{run}/cancel");

/** Starts a new run with the same input. */
export const retryRun = endpoint<RetryRunRequest, RetryRunResponse>()("POST", "/v1/runs/{run}/retry");

/** Answers one thing that a waiting run asks; when nothing is open any more, the run goes on. Repeating an answer is harmless, a different one is refused. */
export const answerRun = endpoint<AnswerRunRequest, AnswerRunResponse>()("POST", "/v1/runs/{run}/answer");

/** Reads a page of events. */
export const listRunEvents = endpoint<ListRunEventsRequest, ListRunEventsResponse>()("GET", "/v1/runs/{run}/events");
