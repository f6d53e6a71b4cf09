/** API tokens, state and audit trail of the system: one constant per call of the API. */

import type {
  CreateTokenRequest,
  CreateTokenResponse,
  GetStatusRequest,
  GetStatusResponse,
  ListAuditRequest,
  ListAuditResponse,
  ListTokensRequest,
  ListTokensResponse,
  RevokeTokenRequest,
  RevokeTokenResponse,
  WhoAmIRequest,
  WhoAmIResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Makes a token; the secret is returned once. */
export const createToken = endpoint<CreateTokenRequest, CreateTokenResponse>()("POST", "/v1/tokens");

/** List tokens. */
export const listTokens = endpoint<ListTokensRequest, ListTokensResponse>()("GET", "/v1/tokens");

/** Revoke token. */
export const revokeToken = endpoint<RevokeTokenRequest, RevokeTokenResponse>()("DELETE", "/v1/tokens/{token}");

/** Tells what the caller's token may do. */
export const whoAmI = endpoint<WhoAmIRequest, WhoAmIResponse>()("GET", "/v1/whoami");

/** Get status. */
export const getStatus = endpoint<GetStatusRequest, GetStatusResponse>()("GET", "/v1/status");

/** Lists the newest changes of state. */
export const listAudit = endpoint<ListAuditRequest, ListAuditResponse>()("GET", "/v1/audit");
