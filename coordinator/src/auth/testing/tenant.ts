/** A database with users, workspaces and the handlers over it, for tests of the features that live in workspaces. */

import { type Ids, MeshError, systemClock, systemIds } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import { modelDb } from "@mesh/models";
import { openStore, type Store } from "@mesh/store";
import { testDatabase } from "@mesh/store/testing";

import { createAppApi } from "../../assistants/app-api.ts";
import { createConnectorApi } from "../../connectors/connector-api.ts";
import type { AppApi, Call, ConnectorApi, TokenApi, WorkspaceApi } from "../../gateway/operation.ts";
import { createWorkspaceApi } from "../../workspaces/workspace-api.ts";
import type { Access } from "../access.ts";
import { createAccess } from "../access-store.ts";
import { TokenAuthenticator } from "../authenticator.ts";
import { bootstrap } from "../bootstrap.ts";
import type { Caller } from "../caller.ts";
import { createSecretBox, type SecretBox } from "../secret-box.ts";
import { createTokenApi } from "../token-api.ts";

const NO_LIMIT = { assistants: [], rate_per_minute: 0 };

/** Everything a test touches. */
export interface Tenant extends AsyncDisposable {
  readonly store: Store;
  readonly ids: Ids;
  readonly access: Access;
  readonly authenticator: TokenAuthenticator;
  readonly secretBox: SecretBox;
  readonly adminToken: string;
  readonly admin: Caller;
  readonly tokens: TokenApi;
  readonly workspaces: WorkspaceApi;
  readonly apps: AppApi;
  readonly connectors: ConnectorApi;
  /** The circumstances of a call by this caller. */
  as(caller: Caller): Call;
  /** A new user with a token and, when given, a role in a workspace. */
  user(
    name: string,
    scopes: readonly string[],
    role?: { readonly workspace: string; readonly role: string },
  ): Promise<Caller>;
}

/** A fresh database after its first start. */
export async function startTenant(): Promise<Tenant> {
  const database = await testDatabase();
  const store = openStore({ url: database.url, maxConnections: 4 });
  const ids = systemIds();
  const { adminToken = "" } = await bootstrap(store, ids);
  const authenticator = new TokenAuthenticator({ store, clock: systemClock });
  const admin = await authenticator.authenticate(adminToken);
  const access = createAccess(store);
  const secretBox = createSecretBox(Buffer.alloc(32, 7));
  const deps = { store, access, ids };
  const tokens = createTokenApi({ ...deps, authenticator });
  const workspaces = createWorkspaceApi({ ...deps, secretBox });
  const as = (caller: Caller): Call => ({
    caller,
    signal: new AbortController().signal,
    requestId: "req_1",
    transport: "http",
  });
  return {
    ...deps,
    authenticator,
    secretBox,
    adminToken,
    admin,
    tokens,
    workspaces,
    apps: createAppApi({ ...deps, models: modelDb(store), columnSecret: Buffer.alloc(32, 8) }),
    connectors: createConnectorApi({
      ...deps,
      secretBox,
      clock: systemClock,
      providers: createProviders({ clock: systemClock }),
    }),
    as,
    async user(name, scopes, role) {
      const request = {
        name: `${name}'s`,
        user: name,
        scopes: [...scopes],
        workspace_ids: [],
        ttl_seconds: 0,
        ...NO_LIMIT,
      };
      const { secret } = await tokens.createToken(request, as(admin));
      if (role !== undefined) await workspaces.putMember({ ...role, user: name }, as(admin));
      return authenticator.authenticate(secret);
    },
    async [Symbol.asyncDispose]() {
      await store.close();
      await database.drop();
    },
  };
}

/** Code and message of a refused call. */
export async function refusal(work: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  try {
    await work;
  } catch (thrown) {
    const { code, message } = MeshError.from(thrown);
    return { code, message };
  }
  return { code: "ok", message: "" };
}
