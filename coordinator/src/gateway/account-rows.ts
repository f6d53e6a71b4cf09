/** Rows of AccountService. */

import {
  AcceptInvitationRequest,
  ChangePasswordRequest,
  CreateInvitationRequest,
  CreateLoginCodeRequest,
  EndSessionRequest,
  GetAccountRequest,
  GetInvitationRequest,
  GetLoginOptionsRequest,
  GetPushKeyRequest,
  ListInvitationsRequest,
  ListPushSubscriptionsRequest,
  ListSessionsRequest,
  ListUsersRequest,
  LogInRequest,
  LogOutRequest,
  PutPushSubscriptionRequest,
  RemovePushSubscriptionRequest,
  RevokeInvitationRequest,
  TestPushRequest,
  UpdateAccountRequest,
  UpdateUserRequest,
} from "@mesh/proto";
import { z } from "zod";

import { PUSH_KINDS } from "../push/push-message.ts";
import { optionalText, optionalWord, reference, required } from "./field.ts";
import type { AccountApi } from "./operation.ts";
import { type OperationRow, row } from "./operation-row.ts";

const MAX_CODE_CHARS = 100;
const MAX_PASSWORD_CHARS = 200;
const MAX_NAME_CHARS = 63;
const MAX_ENDPOINT_CHARS = 1000;
const MAX_KEY_CHARS = 100;
const MAX_PREFERENCES_CHARS = 16_384;
const nothing = z.strictObject({});
/** 0 is what absent means. */
const seconds = (max: number): z.ZodOptional<z.ZodInt> =>
  z
    .int("must be a whole number of seconds")
    .min(0, "is less than 60")
    .max(max, `is more than ${max}`)
    .refine((value) => value === 0 || value >= 60, "is less than 60")
    .optional();
const password = z
  .string()
  .min(10, "must have at least 10 characters")
  .max(MAX_PASSWORD_CHARS, `is longer than ${MAX_PASSWORD_CHARS} characters`);

const LOGIN_ROWS = {
  getLoginOptions: row("GET /v1/login", {
    scope: "none",
    summary: "Tells what the log-in page can offer.",
    input: nothing,
    message: GetLoginOptionsRequest,
  }),
  logIn: row("POST /v1/login", {
    scope: "none",
    summary: "Trades a name and password, or a one-time code, for a session; sets the session cookie.",
    input: z.strictObject({
      name: optionalText(MAX_NAME_CHARS),
      password: optionalText(MAX_PASSWORD_CHARS),
      code: optionalText(MAX_CODE_CHARS),
    }),
    message: LogInRequest,
  }),
  logOut: row("POST /v1/logout", {
    scope: "read",
    summary: "Ends the caller's session and removes the cookie.",
    input: nothing,
    message: LogOutRequest,
  }),
  createLoginCode: row(
    "POST /v1/login-codes",
    {
      scope: "tokens",
      summary: "Makes a one-time link that logs a browser in as the caller.",
      input: z.strictObject({ ttl_seconds: seconds(86_400) }),
      message: CreateLoginCodeRequest,
    },
    { successStatus: 201 },
  ),
} as const;

const OWN_ROWS = {
  getAccount: row("GET /v1/account", {
    scope: "read",
    summary: "Reads the caller's account, and the CSRF token of the session.",
    input: nothing,
    message: GetAccountRequest,
  }),
  updateAccount: row("PATCH /v1/account", {
    scope: "tokens",
    summary: "Changes the caller's display name or preferences.",
    input: z.strictObject({
      display_name: optionalText(100),
      locale: optionalText(35),
      theme: optionalWord("system", "light", "dark"),
      preferences_json: optionalText(MAX_PREFERENCES_CHARS),
    }),
    message: UpdateAccountRequest,
  }),
  changePassword: row("PUT /v1/account/password", {
    scope: "tokens",
    summary: "Sets the caller's password and ends the other sessions.",
    input: z.strictObject({ current: optionalText(MAX_PASSWORD_CHARS), password }),
    message: ChangePasswordRequest,
  }),
  listSessions: row("GET /v1/account/sessions", {
    scope: "read",
    summary: "Lists where the caller is logged in.",
    input: nothing,
    message: ListSessionsRequest,
  }),
  endSession: row("DELETE /v1/account/sessions/{session}", {
    scope: "tokens",
    summary: "Logs one browser out.",
    input: z.strictObject({ session: reference }),
    message: EndSessionRequest,
  }),
} as const;

const PUSH_ROWS = {
  getPushKey: row("GET /v1/account/push/key", {
    scope: "read",
    summary: "Reads the key that a browser subscribes to Web Push with.",
    input: nothing,
    message: GetPushKeyRequest,
  }),
  listPushSubscriptions: row("GET /v1/account/push", {
    scope: "read",
    summary: "Lists the browsers that get the caller's notifications.",
    input: nothing,
    message: ListPushSubscriptionsRequest,
  }),
  putPushSubscription: row("PUT /v1/account/push", {
    scope: "tokens",
    summary: "Sends the caller's notifications to a browser, until it logs out.",
    input: z.strictObject({
      endpoint: required(MAX_ENDPOINT_CHARS),
      p256dh: required(MAX_KEY_CHARS),
      auth: required(MAX_KEY_CHARS),
      kinds: z
        .array(z.enum(PUSH_KINDS, `must be one of: ${PUSH_KINDS.join(", ")}`))
        .max(PUSH_KINDS.length, `has more than ${PUSH_KINDS.length} entries`)
        .optional(),
    }),
    message: PutPushSubscriptionRequest,
  }),
  removePushSubscription: row("DELETE /v1/account/push/{subscription}", {
    scope: "tokens",
    summary: "Sends a browser no more notifications.",
    input: z.strictObject({ subscription: reference }),
    message: RemovePushSubscriptionRequest,
  }),
  testPush: row("POST /v1/account/push/{subscription}/test", {
    scope: "tokens",
    summary: "Sends one notification at once and tells how it went.",
    input: z.strictObject({ subscription: reference }),
    message: TestPushRequest,
  }),
} as const;

const INVITATION_ROWS = {
  createInvitation: row(
    "POST /v1/workspaces/{workspace}/invitations",
    {
      scope: "workspaces",
      summary: "Makes a link that lets people join a workspace.",
      input: z.strictObject({
        workspace: reference,
        role: optionalWord("owner", "member", "viewer"),
        ttl_seconds: seconds(2_592_000),
        uses: z.int("must be a whole number").min(0, "is less than 0").max(100, "is more than 100").optional(),
      }),
      message: CreateInvitationRequest,
    },
    { successStatus: 201 },
  ),
  listInvitations: row("GET /v1/workspaces/{workspace}/invitations", {
    scope: "workspaces",
    summary: "Lists the open invitations of a workspace.",
    input: z.strictObject({ workspace: reference }),
    message: ListInvitationsRequest,
  }),
  revokeInvitation: row("DELETE /v1/workspaces/{workspace}/invitations/{invitation}", {
    scope: "workspaces",
    summary: "Makes an invitation's link worthless.",
    input: z.strictObject({ workspace: reference, invitation: reference }),
    message: RevokeInvitationRequest,
  }),
  getInvitation: row("GET /v1/invitations/{code}", {
    scope: "none",
    summary: "Tells what a link invites to.",
    input: z.strictObject({ code: required(MAX_CODE_CHARS) }),
    message: GetInvitationRequest,
  }),
  acceptInvitation: row(
    "POST /v1/invitations/{code}",
    {
      scope: "none",
      summary: "Makes an account, or joins with the caller's, and logs in; sets the session cookie for a new account.",
      input: z.strictObject({
        code: required(MAX_CODE_CHARS),
        name: optionalText(MAX_NAME_CHARS),
        password: optionalText(MAX_PASSWORD_CHARS),
        display_name: optionalText(100),
      }),
      message: AcceptInvitationRequest,
    },
    { mayHaveCaller: true },
  ),
} as const;

const USER_ROWS = {
  listUsers: row("GET /v1/users", {
    scope: "admin",
    summary: "Lists all people; administrators only.",
    input: nothing,
    message: ListUsersRequest,
  }),
  updateUser: row("PATCH /v1/users/{user}", {
    scope: "admin",
    summary: "Disables or enables a person, or makes one an administrator; administrators only.",
    input: z.strictObject({
      user: reference,
      disabled: z.boolean("must be true or false").optional(),
      is_admin: z.boolean("must be true or false").optional(),
    }),
    message: UpdateUserRequest,
  }),
} as const;

/** What AccountService accepts, and where. */
export const ACCOUNT_ROWS: { readonly [M in keyof AccountApi]: OperationRow<Parameters<AccountApi[M]>[0]> } = {
  ...LOGIN_ROWS,
  ...OWN_ROWS,
  ...PUSH_ROWS,
  ...INVITATION_ROWS,
  ...USER_ROWS,
};
