/** The handlers of AccountService. */

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

import type { Unary } from "../operation.ts";

/** Handlers of AccountService. */
export interface AccountApi {
  readonly getLoginOptions: Unary<GetLoginOptionsRequest, GetLoginOptionsResponse>;
  /** The answer holds the session's text in `token`; over HTTP the gateway makes it the cookie. */
  readonly logIn: Unary<LogInRequest, LogInResponse>;
  readonly logOut: Unary<LogOutRequest, LogOutResponse>;
  readonly createLoginCode: Unary<CreateLoginCodeRequest, CreateLoginCodeResponse>;
  readonly getAccount: Unary<GetAccountRequest, GetAccountResponse>;
  readonly updateAccount: Unary<UpdateAccountRequest, UpdateAccountResponse>;
  readonly changePassword: Unary<ChangePasswordRequest, ChangePasswordResponse>;
  readonly listSessions: Unary<ListSessionsRequest, ListSessionsResponse>;
  readonly endSession: Unary<EndSessionRequest, EndSessionResponse>;
  readonly getPushKey: Unary<GetPushKeyRequest, GetPushKeyResponse>;
  readonly listPushSubscriptions: Unary<ListPushSubscriptionsRequest, ListPushSubscriptionsResponse>;
  readonly putPushSubscription: Unary<PutPushSubscriptionRequest, PutPushSubscriptionResponse>;
  readonly removePushSubscription: Unary<RemovePushSubscriptionRequest, RemovePushSubscriptionResponse>;
  readonly testPush: Unary<TestPushRequest, TestPushResponse>;
  readonly createInvitation: Unary<CreateInvitationRequest, CreateInvitationResponse>;
  readonly listInvitations: Unary<ListInvitationsRequest, ListInvitationsResponse>;
  readonly revokeInvitation: Unary<RevokeInvitationRequest, RevokeInvitationResponse>;
  readonly getInvitation: Unary<GetInvitationRequest, GetInvitationResponse>;
  /** As `logIn`, when it made an account. */
  readonly acceptInvitation: Unary<AcceptInvitationRequest, AcceptInvitationResponse>;
  readonly listUsers: Unary<ListUsersRequest, ListUsersResponse>;
  readonly updateUser: Unary<UpdateUserRequest, UpdateUserResponse>;
}
