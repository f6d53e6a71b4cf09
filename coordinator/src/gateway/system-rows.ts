/** Rows of TokenService and SystemService. */

import {
  CreateTokenRequest,
  GetStatusRequest,
  ListAuditRequest,
  ListTokensRequest,
  RevokeTokenRequest,
  WhoAmIRequest,
} from "@mesh/proto";
import { z } from "zod";

import { SCOPES } from "../auth/caller.ts";
import { optionalInt, optionalText, reference, required, texts } from "./field.ts";
import type { SystemApi, TokenApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const TEN_YEARS_SECONDS = 315_360_000;
const nothing = z.strictObject({});

/** What TokenService accepts, and where. */
export const TOKEN_ROWS: { readonly [M in keyof TokenApi]: OperationRow<Parameters<TokenApi[M]>[0]> } = {
  createToken: row(
    "POST /v1/tokens",
    {
      scope: "tokens",
      summary: "Makes a token with at most the caller's rights; the secret is shown once.",
      input: z.strictObject({
        name: required(100),
        user: z
          .string()
          .regex(
            /^([A-Za-z0-9][A-Za-z0-9._@-]{0,62})?$/,
            "must be 1 to 63 letters, digits, dots, dashes, underscores or @",
          )
          .optional(),
        scopes: z
          .array(z.enum(SCOPES, `must be one of: ${SCOPES.join(", ")}`))
          .max(SCOPES.length, `has more than ${SCOPES.length} entries`)
          .optional(),
        workspace_ids: texts(100, 64),
        ttl_seconds: optionalInt(0, TEN_YEARS_SECONDS),
        assistants: texts(100, 200),
        rate_per_minute: optionalInt(0, 1_000_000),
      }),
      message: CreateTokenRequest,
    },
    { successStatus: 201 },
  ),
  listTokens: row("GET /v1/tokens", {
    scope: "tokens",
    summary: "Lists the caller's tokens; all tokens for an administrator.",
    input: nothing,
    message: ListTokensRequest,
  }),
  revokeToken: row("DELETE /v1/tokens/{token}", {
    scope: "tokens",
    summary: "Revokes a token by id or by its unique name.",
    input: z.strictObject({ token: reference }),
    message: RevokeTokenRequest,
  }),
  whoAmI: row(
    "GET /v1/whoami",
    {
      scope: "read",
      summary: "Tells what the caller's token may do.",
      input: nothing,
      message: WhoAmIRequest,
    },
    { knowsAssistants: true },
  ),
};

/** What SystemService accepts, and where. */
export const SYSTEM_ROWS: { readonly [M in keyof SystemApi]: OperationRow<Parameters<SystemApi[M]>[0]> } = {
  getStatus: row("GET /v1/status", {
    scope: "read",
    summary: "Tells the state of the coordinator.",
    input: nothing,
    message: GetStatusRequest,
  }),
  listAudit: row("GET /v1/audit", {
    scope: "admin",
    summary: "Lists the newest changes of state.",
    input: z.strictObject({ limit: optionalInt(0, 200), cursor: optionalText(200) }),
    message: ListAuditRequest,
  }),
};
