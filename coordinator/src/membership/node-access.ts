/**
 * Who may let devices in and manage them.
 *
 * A device takes runs, and secrets with them, of every workspace it serves. So a caller who is not free to use every workspace
 * may only make, change or remove devices that serve nothing but workspaces that the caller may write to.
 */

import { MeshError } from "@mesh/kernel";

import type { Access } from "../auth/access.ts";
import type { Caller } from "../auth/caller.ts";

/** Ids of the workspaces of a device, from ids or names; none given means as many as the caller may choose. */
export async function workspacesOf(
  access: Access,
  caller: Caller,
  refs: readonly string[],
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const ref of refs) ids.push((await access.workspace(caller, ref, "write")).id);
  if (ids.length > 0) return ids;
  const mine = await writable(access, caller);
  if (mine === undefined) return [];
  if (mine.length > 0) return mine;
  throw new MeshError(
    "permission_denied",
    "you may not write to any workspace; ask an administrator to let the device in",
  );
}

/** Throws unless the caller may manage a device that serves these workspaces (none: all). */
export async function requireManage(
  access: Access,
  caller: Caller,
  device: { readonly name: string; readonly workspace_ids: readonly string[] },
): Promise<void> {
  const mine = await writable(access, caller);
  if (mine === undefined) return;
  const { name, workspace_ids: served } = device;
  if (served.length > 0 && served.every((id) => mine.includes(id))) return;
  throw new MeshError(
    "permission_denied",
    `device ${name} serves workspaces that you may not write to; ask an administrator to do this`,
  );
}

// Undefined: every workspace.
async function writable(access: Access, caller: Caller): Promise<readonly string[] | undefined> {
  const readable = await access.readable(caller);
  if (readable === undefined) return undefined;
  const allowed = await Promise.all(
    readable.map((id) =>
      access.workspace(caller, id, "write").then(
        () => true,
        () => false,
      ),
    ),
  );
  return readable.filter((_, i) => allowed[i]);
}
