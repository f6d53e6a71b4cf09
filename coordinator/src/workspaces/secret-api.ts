/**
 * Variables of a workspace: what its runs get as `$ENV.NAME`, for connectors, MCP servers and the commands they start.
 *
 * X1  A value is sealed for its workspace and name, and leaves only inside the secrets of a run of that workspace.
 * X2  Names that would change how programs are started or found are refused.
 */

import { type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type { PutSecretRequest, PutSecretResponse, RemoveSecretRequest, Secret } from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import type { Access, AllowedWorkspace } from "../auth/access.ts";
import { requireOwner } from "../auth/access-store.ts";
import { actorOf } from "../auth/caller.ts";
import type { SecretBox } from "../auth/secret-box.ts";
import type { Call, WorkspaceApi } from "../gateway/operation.ts";
import { deleteSecret, listSealedSecrets, listSecrets, putSecret, type SecretRow } from "./setting-store.ts";
import { lockWorkspace } from "./workspace-store.ts";

/** What the handlers use. */
export interface SecretApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly secretBox: SecretBox;
}

const MAX_SECRETS = 100;
const RESERVED =
  /^(PATH|HOME|SHELL|USER|TMPDIR|NODE_OPTIONS|NODE_PATH|BASH_ENV|ENV|PYTHONPATH|PYTHONSTARTUP|PERL5LIB|PERL5OPT|RUBYOPT|LD_.*|DYLD_.*|GIT_(SSH|CONFIG|EXEC|PROXY).*|YAO_.*)$/;

/** Builds the handlers. */
export function secretHandlers(deps: SecretApiDeps): Pick<WorkspaceApi, "putSecret" | "listSecrets" | "removeSecret"> {
  return {
    putSecret: (request, call) => put(deps, request, call),
    listSecrets: async (request, { caller }) => {
      const { id } = await deps.access.workspace(caller, request.workspace, "read");
      return { secrets: (await listSecrets(deps.store.sql, id)).map(toSecret) };
    },
    removeSecret: (request, call) => remove(deps, request, call),
  };
}

/** The variables of a workspace, opened, for one of its runs. */
export function createVariableSource(
  deps: Pick<SecretApiDeps, "store" | "secretBox">,
): (workspaceId: string) => Promise<Record<string, string>> {
  return async (workspaceId) => {
    const rows = await listSealedSecrets(deps.store.sql, workspaceId);
    return Object.fromEntries(
      rows.map(({ name, sealed }) => [name, deps.secretBox.open(sealed, contextOf(workspaceId, name))]),
    );
  };
}

async function put(deps: SecretApiDeps, request: PutSecretRequest, call: Call): Promise<PutSecretResponse> {
  const { name } = request;
  if (RESERVED.test(name)) {
    throw new MeshError("invalid_argument", `${name} belongs to the device that runs; choose another name`);
  }
  const workspace = await owned(deps, request.workspace, call);
  const sealed = deps.secretBox.seal(request.value, contextOf(workspace.id, name));
  const row = await deps.store.sql.begin(async (tx) => {
    await lockWorkspace(tx, workspace.id);
    const stored = await putSecret(tx, { workspaceId: workspace.id, name, sealed, by: call.caller.userName });
    if ((await listSecrets(tx, workspace.id)).length > MAX_SECRETS) {
      throw new MeshError("resource_exhausted", `a workspace has at most ${MAX_SECRETS} variables; remove some first`);
    }
    await insertAudit(tx, { ...auditOf(deps, workspace, call), action: "secret.put", object: name });
    return stored;
  });
  return { secret: row === undefined ? undefined : toSecret(row) };
}

async function remove(deps: SecretApiDeps, request: RemoveSecretRequest, call: Call): Promise<Record<string, never>> {
  const workspace = await owned(deps, request.workspace, call);
  await deps.store.sql.begin(async (tx) => {
    if (!(await deleteSecret(tx, workspace.id, request.name))) {
      throw new MeshError("not_found", `workspace ${workspace.name} has no variable ${request.name}`);
    }
    await insertAudit(tx, { ...auditOf(deps, workspace, call), action: "secret.remove", object: request.name });
  });
  return {};
}

function auditOf(
  { ids }: SecretApiDeps,
  workspace: AllowedWorkspace,
  { caller }: Call,
): { readonly id: string; readonly actor: string; readonly workspaceId: string } {
  return { id: ids.next("audit"), actor: actorOf(caller), workspaceId: workspace.id };
}

async function owned(deps: SecretApiDeps, ref: string, { caller }: Call): Promise<AllowedWorkspace> {
  const workspace = await deps.access.workspace(caller, ref, "write");
  await requireOwner(deps.store, caller, workspace);
  return workspace;
}

function contextOf(workspaceId: string, name: string): string {
  return `variable:${workspaceId}:${name}`;
}

function toSecret(row: SecretRow): Secret {
  return { name: row.name, updated_at: rfc3339(row.updated_at.getTime()), updated_by: row.updated_by };
}
