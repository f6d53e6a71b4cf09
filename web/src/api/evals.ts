/** Evals: one constant per call of the API. */

import type {
  AddEvalCasesRequest,
  AddEvalCasesResponse,
  CancelEvalRequest,
  CancelEvalResponse,
  CreateEvalRequest,
  CreateEvalResponse,
  GetEvalRequest,
  GetEvalResponse,
  ListEvalCasesRequest,
  ListEvalCasesResponse,
  ListEvalResultsRequest,
  ListEvalResultsResponse,
  ListEvalsRequest,
  ListEvalsResponse,
  PlanEvalRequest,
  PlanEvalResponse,
  RemoveEvalRequest,
  RemoveEvalResponse,
  ResumeEvalRequest,
  ResumeEvalResponse,
  StartEvalRequest,
  StartEvalResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Says which devices would take part, and why others would not; nothing is stored. */
export const planEval = endpoint<PlanEvalRequest, PlanEvalResponse>()("POST", "/v1/evals/plan");

/** Makes an eval and starts it, unless it is to stay a draft that gets more cases. */
export const createEval = endpoint<CreateEvalRequest, CreateEvalResponse>()("POST", "/v1/evals");

/** Adds cases to a draft; sending the same position again is harmless. */
export const addEvalCases = endpoint<AddEvalCasesRequest, AddEvalCasesResponse>()("POST", "/v1/evals/{eval}/cases");

/** Starts a draft; idempotent. */
export const startEval = endpoint<StartEvalRequest, StartEvalResponse>()("POST", "/v1/evals/{eval}/start");

/** Lists the newest first. */
export const listEvals = endpoint<ListEvalsRequest, ListEvalsResponse>()("GET", "/v1/evals");

/** Reads one eval with its counts and devices. */
export const getEval = endpoint<GetEvalRequest, GetEvalResponse>()("GET", "/v1/evals/{eval}");

/** Stops it; what has a result keeps it. */
export const cancelEval = endpoint<CancelEvalRequest, CancelEvalResponse>()("POST", "/v1/evals/{eval}/cancel");

/** Goes on with the units that have no result, and on demand with those that ended as error. */
export const resumeEval = endpoint<ResumeEvalRequest, ResumeEvalResponse>()("POST", "/v1/evals/{eval}/resume");

/** Removes an eval that has ended, with its log. */
export const removeEval = endpoint<RemoveEvalRequest, RemoveEvalResponse>()("DELETE", "/v1/evals/{eval}");

/** Reads a page of the cases as they were written. */
export const listEvalCases = endpoint<ListEvalCasesRequest, ListEvalCasesResponse>()("GET", "/v1/evals/{eval}/cases");

/** Reads a page of the log, oldest first. */
export const listEvalResults = endpoint<ListEvalResultsRequest, ListEvalResultsResponse>()(
  "GET",
  "/v1/evals/{eval}/results",
);
