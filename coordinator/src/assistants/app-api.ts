/** AppService. */

import { MeshError } from "@mesh/kernel";
import type { GetAppRequest, GetAppResponse, RemoveAppRequest } from "@mesh/proto";
import { insertAudit } from "@mesh/store";

import type { AllowedWorkspace } from "../auth/access.ts";
import { actorOf, mayUseAssistant } from "../auth/caller.ts";
import type { AppApi, Call } from "../gateway/operation.ts";
import { type AppRow, deleteApp, listApps, listAssistants, listVersions } from "./app-store.ts";
import { toApp, toAssistant, toVersion } from "./app-view.ts";
import { pushApp, type PushDeps } from "./push-app.ts";

/** What the handlers use. */
export type AppApiDeps = PushDeps;

/** Builds the handlers. */
export function createAppApi(deps: AppApiDeps): AppApi {
  const { store, access } = deps;
  return {
    pushApp: (request, call) => pushApp(deps, request, call),
    listApps: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "read");
      return { apps: (await listApps(store.sql, id)).map(toApp) };
    },
    getApp: (request, call) => getApp(deps, request, call),
    removeApp: (request, call) => removeApp(deps, request, call),
    listAssistants: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "read");
      const rows = (await listAssistants(store.sql, id)).filter((row) => mayUseAssistant(caller, row.id));
      return { assistants: rows.map(toAssistant) };
    },
    getAssistant: async (request, { caller }) => {
      const workspace = await access.workspace(caller, request.workspace, "read");
      const isAllowed = mayUseAssistant(caller, request.assistant);
      const [row] = isAllowed ? await listAssistants(store.sql, workspace.id, { id: request.assistant }) : [];
      if (row !== undefined) return { assistant: toAssistant(row) };
      throw new MeshError(
        "not_found",
        `assistant ${request.assistant} was not found in workspace ${workspace.name}; see: yao app list`,
      );
    },
  };
}

async function getApp(deps: AppApiDeps, request: GetAppRequest, { caller }: Call): Promise<GetAppResponse> {
  const workspace = await deps.access.workspace(caller, request.workspace, "read");
  const row = await mustFindApp(deps, workspace, request.app);
  const versions = await listVersions(deps.store.sql, row.id);
  const assistants = await listAssistants(deps.store.sql, workspace.id, { appId: row.id });
  return { app: toApp(row), versions: versions.map(toVersion), assistants: assistants.map(toAssistant) };
}

async function removeApp(
  deps: AppApiDeps,
  request: RemoveAppRequest,
  { caller }: Call,
): Promise<Record<string, never>> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  const row = await mustFindApp(deps, workspace, request.app);
  await deps.store.sql.begin(async (tx) => {
    await deleteApp(tx, row.id);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "app.remove",
      object: row.id,
      workspaceId: workspace.id,
      detail: { name: row.name, version: row.version },
    });
  });
  return {};
}

async function mustFindApp(deps: AppApiDeps, workspace: AllowedWorkspace, ref: string): Promise<AppRow> {
  const apps = await listApps(deps.store.sql, workspace.id);
  const found = apps.find((app) => app.name === ref || app.id === ref);
  if (found !== undefined) return found;
  throw new MeshError("not_found", `app ${ref} was not found in workspace ${workspace.name}; see: yao app list`);
}
