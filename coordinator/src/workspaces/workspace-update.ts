/** UpdateWorkspace: the name and the settings, by owners. */

import { MeshError } from "@mesh/kernel";
import type { UpdateWorkspaceRequest, WorkspaceSettings } from "@mesh/proto";
import { insertAudit, type Tx } from "@mesh/store";

import type { AllowedWorkspace } from "../auth/access.ts";
import { requireOwner } from "../auth/access-store.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call } from "../gateway/operation.ts";
import type { WorkspaceApiDeps } from "./workspace-api.ts";
import { toStored } from "./setting.ts";
import { findNodes, hasAssistant, putSettings, renameWorkspace } from "./setting-store.ts";
import { lockWorkspace } from "./workspace-store.ts";

/** Changes a workspace; gives its id. */
export async function updateWorkspace(
  deps: WorkspaceApiDeps,
  request: UpdateWorkspaceRequest,
  { caller }: Call,
): Promise<string> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  await requireOwner(deps.store, caller, workspace);
  const { name, settings } = request;
  await deps.store.sql.begin(async (tx) => {
    const row = await lockWorkspace(tx, workspace.id);
    if (name !== undefined && name !== workspace.name && row?.is_default === true) {
      throw new MeshError("failed_precondition", `workspace ${workspace.name} is the default one and keeps its name`);
    }
    if (name !== undefined && !(await renameWorkspace(tx, workspace.id, name))) {
      throw new MeshError("already_exists", `workspace ${name} exists already; choose another name`);
    }
    const stored = settings === undefined ? undefined : toStored(await checked(tx, workspace, settings));
    if (stored !== undefined) await putSettings(tx, workspace.id, stored);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "workspace.update",
      object: workspace.id,
      workspaceId: workspace.id,
      detail: {
        ...(name === undefined ? {} : { name }),
        ...(stored === undefined ? {} : { settings: JSON.stringify(stored) }),
      },
    });
  });
  deps.limitsChanged?.();
  return workspace.id;
}

/** The settings with devices by id; throws for what is not there. */
async function checked(tx: Tx, workspace: AllowedWorkspace, settings: WorkspaceSettings): Promise<WorkspaceSettings> {
  const { default_assistant: assistant, node_ids: refs } = settings;
  if (assistant !== "" && !(await hasAssistant(tx, workspace.id, assistant))) {
    throw new MeshError("not_found", `assistant "${assistant}" was not found in ${workspace.name}; see yao app list`);
  }
  const nodes = refs.length === 0 ? [] : await findNodes(tx, refs);
  const ids = refs.map((ref) => {
    const node = nodes.find((one) => one.id === ref || one.name === ref);
    if (node === undefined) throw new MeshError("not_found", `device "${ref}" is not known; see yao node list`);
    if (node.workspace_ids.length > 0 && !node.workspace_ids.includes(workspace.id)) {
      throw new MeshError("failed_precondition", `device ${node.name} does not serve workspace ${workspace.name}`);
    }
    return node.id;
  });
  return { ...settings, node_ids: ids };
}
