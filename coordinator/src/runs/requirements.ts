/** What a run demands of a device, from what was asked for. */

import { MeshError } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { findNode } from "./run-api-store.ts";
import type { StoredRequirements } from "./run-row.ts";

/** Demands as requests have them; all may be absent. */
export interface RequirementsWish {
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly os?: string;
  readonly arch?: string;
  readonly tools?: readonly string[];
}

/** Resolves the device by id or name; throws when it is unknown or does not serve the workspace. */
export async function resolveRequirements(
  sql: Sql | Tx,
  wanted: RequirementsWish | undefined,
  workspaceId: string,
): Promise<StoredRequirements> {
  const { node: ref = "", labels = {}, os = "", arch = "", tools = [] } = wanted ?? {};
  const base = { labels, os, arch, tools };
  if (ref === "") return { node_id: "", node: "", ...base };
  const node = await findNode(sql, ref);
  if (node === undefined) throw unknownNode(ref);
  if (node.workspace_ids.length > 0 && !node.workspace_ids.includes(workspaceId)) {
    throw new MeshError(
      "failed_precondition",
      `device ${node.name} does not serve this workspace; choose another device`,
    );
  }
  return { node_id: node.id, node: node.name, ...base };
}

/** The error of a device that nobody knows. */
export function unknownNode(ref: string): MeshError {
  return new MeshError("not_found", `device "${ref}" is not known; see yao node list`);
}
