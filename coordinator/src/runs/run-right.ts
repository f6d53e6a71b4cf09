/** Who may start what: the settings of a workspace, applied to one request. */

import { MeshError } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import type { AllowedWorkspace } from "../auth/access.ts";
import { isOwner } from "../auth/access-store.ts";
import type { Caller } from "../auth/caller.ts";
import type { StoredSettings } from "../workspaces/setting.ts";

/** What a run would be. */
export interface WantedRun {
  readonly workspace: AllowedWorkspace;
  readonly settings: StoredSettings;
  readonly assistantId: string;
}

/** Throws when the workspace keeps this assistant to its owners and the caller is none. */
export async function requireMayRun(store: Pick<Store, "sql">, caller: Caller, wanted: WantedRun): Promise<void> {
  const { settings, workspace, assistantId } = wanted;
  const allowed = settings.member_assistants;
  if (allowed === undefined || allowed.includes(assistantId) || (await isOwner(store, caller, workspace))) return;
  throw new MeshError(
    "permission_denied",
    `members of workspace ${workspace.name} may run ${allowed.slice(0, 10).join(", ")}; ask an owner to add ${assistantId}`,
  );
}

/** The metadata of a run, with the language its person prefers when the request names none. */
export function withLocale(
  metadata: Readonly<Record<string, unknown>>,
  { locale }: Caller,
): Readonly<Record<string, unknown>> {
  return locale === undefined || metadata["locale"] !== undefined ? metadata : { ...metadata, locale };
}
