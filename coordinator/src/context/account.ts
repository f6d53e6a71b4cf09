/** Wiring of accounts and of the web page. */

import { hostname } from "node:os";
import { join } from "node:path";

import { type Clock, type Ids, MeshError } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import { createAccountApi } from "../accounts/account-api.ts";
import { loginUrl } from "../accounts/login.ts";
import { type OidcDeps, OidcLogin } from "../accounts/oidc.ts";
import type { Access } from "../auth/access.ts";
import type { TokenAuthenticator } from "../auth/authenticator.ts";
import { issueLoginCode } from "../auth/bootstrap.ts";
import type { CoordinatorConfig } from "../config.ts";
import type { GatewayConfig } from "../gateway/gateway.ts";
import { VERSION } from "../version.ts";

/** What accounts are built from. */
export interface AccountParts {
  readonly config: CoordinatorConfig;
  readonly store: Store;
  readonly access: Access;
  readonly authenticator: TokenAuthenticator;
  readonly ids: Ids;
}

/** The handlers of AccountService, but for those of notifications. */
export function accountApi(
  parts: AccountParts,
  clock: Clock,
  publicUrl: () => string,
): ReturnType<typeof createAccountApi> {
  const { store, access, authenticator, ids } = parts;
  const oidcLabel = parts.config.oidcIssuer === undefined ? "" : parts.config.oidcLabel;
  return createAccountApi({ store, access, authenticator, ids, clock, publicUrl, version: VERSION, oidcLabel });
}

/** The way in through an OpenID Connect provider, when there is one. */
export function oidcLogin(deps: OidcDeps, config: CoordinatorConfig): OidcLogin | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
  if (issuer === undefined) return undefined;
  if (clientId === undefined || clientSecret === undefined || !URL.canParse(issuer)) {
    throw new MeshError(
      "invalid_argument",
      "YAO_OIDC_ISSUER must be a URL and needs YAO_OIDC_CLIENT_ID and YAO_OIDC_CLIENT_SECRET too",
    );
  }
  return new OidcLogin(deps, {
    issuer,
    clientId,
    clientSecret,
    allow: config.oidcAllow,
    groupAdmin: config.oidcGroupAdmin,
  });
}

/** What the gateway must know to serve browsers. */
export function browserConfig({
  publicUrl,
  webDir,
  trustedProxies,
}: CoordinatorConfig): Pick<GatewayConfig, "publicUrl" | "hostNames" | "trustedProxies" | "webDirectory"> {
  return {
    trustedProxies,
    ...(publicUrl === undefined ? {} : { publicUrl }),
    hostNames: [hostname()],
    // Beside the coordinator in the repository and in the image, seen from sources and from the built program alike.
    webDirectory: webDir ?? join(import.meta.dirname, "../../../web/dist"),
  };
}

/** The link of the first start, which opens the page as the administrator once. */
export async function firstLoginUrl(store: Store, ids: Ids, publicUrl: string): Promise<string | undefined> {
  const code = await issueLoginCode(store, ids);
  return code === undefined ? undefined : loginUrl(publicUrl, code);
}
