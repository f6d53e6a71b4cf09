/** What the handlers of AccountService share. */

import type { Clock, Ids } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { TokenAuthenticator } from "../auth/authenticator.ts";
import type { LoginThrottle } from "./login-throttle.ts";
import type { Passwords } from "./password.ts";

/** What the handlers are given. */
export interface AccountApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly authenticator: Pick<TokenAuthenticator, "forget" | "forgetUser">;
  readonly ids: Ids;
  readonly clock: Pick<Clock, "monotonic">;
  /** As people reach the gateway. */
  readonly publicUrl: () => string;
  readonly version: string;
  /** Label of the OpenID Connect provider; empty when there is none. */
  readonly oidcLabel?: string;
  readonly passwords?: Passwords;
}

/** With what is made once. */
export interface AccountDeps extends AccountApiDeps {
  readonly passwords: Passwords;
  readonly throttle: LoginThrottle;
}
