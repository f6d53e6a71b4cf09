/** People, log-ins and invitations: one constant per call of the API. */

import type {
  AcceptInvitationRequest,
  AcceptInvitationResponse,
  ChangePasswordRequest,
  ChangePasswordResponse,
  CreateInvitationRequest,
  CreateInvitationResponse,
  CreateLoginCodeRequest,
  CreateLoginCodeResponse,
  EndSessionRequest,
  EndSessionResponse,
  GetAccountRequest,
  GetAccountResponse,
  GetInvitationRequest,
  GetInvitationResponse,
  GetLoginOptionsRequest,
  GetLoginOptionsResponse,
  GetPushKeyRequest,
  GetPushKeyResponse,
  ListInvitationsRequest,
  ListInvitationsResponse,
  ListPushSubscriptionsRequest,
  ListPushSubscriptionsResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  ListUsersRequest,
  ListUsersResponse,
  LogInRequest,
  LogInResponse,
  LogOutRequest,
  LogOutResponse,
  PutPushSubscriptionRequest,
  PutPushSubscriptionResponse,
  RemovePushSubscriptionRequest,
  RemovePushSubscriptionResponse,
  RevokeInvitationRequest,
  RevokeInvitationResponse,
  TestPushRequest,
  TestPushResponse,
  UpdateAccountRequest,
  UpdateAccountResponse,
  UpdateUserRequest,
  UpdateUserResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** Tells what the log-in page can offer; needs no session. */
export const getLoginOptions = endpoint<GetLoginOptionsRequest, GetLoginOptionsResponse>()("GET", "/v1/login");

/** Trades a name and password, or a one-time code, for a session; needs no session. */
export const logIn = endpoint<LogInRequest, LogInResponse>()("POST", "/v1/login");

/** Ends the caller's session. */
export const logOut = endpoint<LogOutRequest, LogOutResponse>()("POST", "/v1/logout");

/** Makes a one-time code that logs a browser in as the caller. */
export const createLoginCode = endpoint<CreateLoginCodeRequest, CreateLoginCodeResponse>()("POST", "/v1/login-codes");

/** Reads the caller's account. */
export const getAccount = endpoint<GetAccountRequest, GetAccountResponse>()("GET", "/v1/account");

/** Changes the caller's display name or preferences. */
export const updateAccount = endpoint<UpdateAccountRequest, UpdateAccountResponse>()("PATCH", "/v1/account");

/** Sets the caller's password and ends the other sessions. */
export const changePassword = endpoint<ChangePasswordRequest, ChangePasswordResponse>()("PUT", "/v1/account/password");

/** Lists where the caller is logged in. */
export const listSessions = endpoint<ListSessionsRequest, ListSessionsResponse>()("GET", "/v1/account/sessions");

/** Logs one browser out. */
export const endSession = endpoint<EndSessionRequest, EndSessionResponse>()("DELETE", "/v1/account/sessions/{session}");

/** The key that this browser subscribes with. */
export const getPushKey = endpoint<GetPushKeyRequest, GetPushKeyResponse>()("GET", "/v1/account/push/key");

/** The browsers that get one's notifications. */
export const listPushSubscriptions = endpoint<ListPushSubscriptionsRequest, ListPushSubscriptionsResponse>()(
  "GET",
  "/v1/account/push",
);

/** Sends one's notifications to this browser. */
export const putPushSubscription = endpoint<PutPushSubscriptionRequest, PutPushSubscriptionResponse>()(
  "PUT",
  "/v1/account/push",
);

/** Sends them to a browser no more. */
export const removePushSubscription = endpoint<RemovePushSubscriptionRequest, RemovePushSubscriptionResponse>()(
  "DELETE",
  "/v1/account/push/{subscription}",
);

/** Sends one to try it. */
export const testPush = endpoint<TestPushRequest, TestPushResponse>()("POST", "/v1/account/push/{subscription}/test");

/** Makes a link that lets people join a workspace. */
export const createInvitation = endpoint<CreateInvitationRequest, CreateInvitationResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/invitations",
);

/** Lists the open ones. */
export const listInvitations = endpoint<ListInvitationsRequest, ListInvitationsResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/invitations",
);

/** Revoke invitation. */
export const revokeInvitation = endpoint<RevokeInvitationRequest, RevokeInvitationResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/invitations/{invitation}",
);

/** Tells what a link invites to; needs no session. */
export const getInvitation = endpoint<GetInvitationRequest, GetInvitationResponse>()("GET", "/v1/invitations/{code}");

/** Makes an account, or joins with the caller's, and logs in; needs no session. */
export const acceptInvitation = endpoint<AcceptInvitationRequest, AcceptInvitationResponse>()(
  "POST",
  "/v1/invitations/{code}",
);

/** Lists all people; administrators only. */
export const listUsers = endpoint<ListUsersRequest, ListUsersResponse>()("GET", "/v1/users");

/** Disables or enables a person, or makes one an administrator; administrators only. */
export const updateUser = endpoint<UpdateUserRequest, UpdateUserResponse>()("PATCH", "/v1/users/{user}");
