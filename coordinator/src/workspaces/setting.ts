/** What a workspace sets for itself: as stored, and as the wire says it. Pure. */

import { WorkspaceSettings } from "@mesh/proto";

/** The shape of `workspaces.settings`; what is not set is not there. */
export interface StoredSettings {
  readonly default_assistant?: string;
  readonly node_ids?: readonly string[];
  readonly member_assistants?: readonly string[];
  readonly max_active_runs?: number;
  readonly max_runs_per_day?: number;
  readonly max_storage_mb?: number;
}

/** Leaves out what sets nothing, so that a workspace without settings has an empty object. */
export function toStored(settings: WorkspaceSettings): StoredSettings {
  const { node_ids: nodeIds, member_assistants: assistants } = settings;
  return {
    ...(settings.default_assistant === "" ? {} : { default_assistant: settings.default_assistant }),
    ...(nodeIds.length === 0 ? {} : { node_ids: [...new Set(nodeIds)] }),
    ...(assistants.length === 0 ? {} : { member_assistants: [...new Set(assistants)] }),
    ...(settings.max_active_runs === 0 ? {} : { max_active_runs: settings.max_active_runs }),
    ...(settings.max_runs_per_day === 0 ? {} : { max_runs_per_day: settings.max_runs_per_day }),
    ...(settings.max_storage_mb === 0 ? {} : { max_storage_mb: settings.max_storage_mb }),
  };
}

/** With the empty values of what is not set. */
export function toSettings(stored: StoredSettings): WorkspaceSettings {
  return WorkspaceSettings.fromPartial(stored);
}
