/**
 * Which bundle an eval runs: one that was pushed for evals, or that of the workspace's app.
 *
 * U1  A digest alone gives nothing: the workspace must have pushed that bundle itself, for evals or as a version of an app.
 */

import { bundleDigest, loadApp, readBundle } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";
import type { PushEvalBundleRequest, PushEvalBundleResponse } from "@mesh/proto";
import { insertAudit, type Sql } from "@mesh/store";

import { insertBundle } from "../assistants/app-store.ts";
import type { AllowedWorkspace } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call } from "../gateway/operation.ts";
import { findAssistants } from "../runs/run-api-store.ts";
import { requireMayRun } from "../runs/run-right.ts";
import type { StoredSettings } from "../workspaces/setting.ts";
import type { EvalApiDeps } from "./eval-api.ts";

/** What is tested. */
export interface EvalSource {
  readonly assistantId: string;
  /** Empty for a bundle of its own. */
  readonly appName: string;
  readonly digest: string;
}

const MAX_SHOWN = 10;
const MAX_PROBLEMS = 200;

/** Validates and keeps a bundle; throws `invalid_argument` with `details.problems`. */
export async function pushEvalBundle(
  { store, access, ids }: EvalApiDeps,
  { workspace: ref, bundle }: PushEvalBundleRequest,
  { caller }: Call,
): Promise<PushEvalBundleResponse> {
  const workspace = await access.workspace(caller, ref, "write");
  const { app, problems } = loadApp(readBundle(bundle));
  const errors = problems.filter(({ severity }) => severity === "error");
  const [first] = errors;
  if (first !== undefined) {
    const place = first.line > 0 ? `${first.file}:${first.line}` : first.file;
    const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more)`;
    throw new MeshError(
      "invalid_argument",
      `the app has problems: ${place}: ${first.message}${more}; see them all with: yao app check DIR`,
      { details: { problems: problems.slice(0, MAX_PROBLEMS).map((problem) => ({ ...problem })) } },
    );
  }
  const digest = bundleDigest(bundle);
  await store.sql.begin(async (tx) => {
    await insertBundle(tx, digest, bundle);
    const added = await tx`
      INSERT INTO eval_bundles (workspace_id, digest) VALUES (${workspace.id}, ${digest}) ON CONFLICT DO NOTHING`;
    if (added.count === 0) return;
    await insertAudit(tx, {
      id: ids.next("audit"),
      actor: actorOf(caller),
      action: "eval.push",
      object: digest,
      workspaceId: workspace.id,
    });
  });
  return { digest, size_bytes: bundle.length, assistants: [...app.assistants.keys()] };
}

/** The bundle of an eval; throws `not_found` for what the workspace has not (details.reason `unknown_bundle` for a digest). */
export async function evalSource(
  { store }: EvalApiDeps,
  wanted: { readonly workspace: AllowedWorkspace; readonly assistant: string; readonly digest: string },
  { caller }: Call,
): Promise<EvalSource> {
  const { workspace, assistant: assistantId, digest } = wanted;
  if (digest !== "") {
    const settings = await settingsOf(store.sql, workspace.id);
    await requireMayRun(store, caller, { workspace, settings, assistantId });
    requireAssistant(await bundleOf(store.sql, workspace, digest), assistantId);
    return { assistantId, appName: "", digest };
  }
  const [found] = await findAssistants(store.sql, [{ workspaceId: workspace.id, id: assistantId }]);
  if (found === undefined) {
    throw new MeshError(
      "not_found",
      `assistant "${assistantId}" was not found in workspace ${workspace.name}; see yao app list, or push an app with: yao app push DIR`,
    );
  }
  await requireMayRun(store, caller, { workspace, settings: found.settings, assistantId });
  return { assistantId, appName: found.appName, digest: found.bundleDigest };
}

async function settingsOf(sql: Sql, workspaceId: string): Promise<StoredSettings> {
  const [row] = await sql<{ settings: StoredSettings }[]>`SELECT settings FROM workspaces WHERE id = ${workspaceId}`;
  return row?.settings ?? {};
}

async function bundleOf(sql: Sql, workspace: AllowedWorkspace, digest: string): Promise<Uint8Array> {
  const [row] = await sql<{ bytes: Buffer }[]>`
    SELECT b.bytes FROM bundles b WHERE b.digest = ${digest} AND (
      EXISTS (SELECT 1 FROM eval_bundles e WHERE e.workspace_id = ${workspace.id} AND e.digest = b.digest)
      OR EXISTS (
        SELECT 1 FROM apps a JOIN app_versions v ON v.app_id = a.id WHERE a.workspace_id = ${workspace.id} AND v.digest = b.digest
      ))`;
  if (row !== undefined) return row.bytes;
  throw new MeshError(
    "not_found",
    `workspace ${workspace.name} has no bundle ${digest.slice(0, 12)}…; push it to the workspace's evals/bundles first`,
    { details: { reason: "unknown_bundle" } },
  );
}

function requireAssistant(bytes: Uint8Array, assistantId: string): void {
  const { assistants } = loadApp(readBundle(bytes)).app;
  if (assistants.has(assistantId)) return;
  const known = [...assistants.keys()];
  throw new MeshError(
    "not_found",
    `the bundle has no assistant "${assistantId}"; it has ${known.slice(0, MAX_SHOWN).join(", ")}${known.length > MAX_SHOWN ? ", …" : ""}`,
  );
}
