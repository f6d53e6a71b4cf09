/**
 * EvalService.
 *
 * W1  An eval is known by its workspace: unknown and foreign are told apart nowhere.
 * W2  What is created is whole: its cases, its units and its audit row are one transaction.
 * W3  A follower reads the database after its cursor and waits for news; the last it is told is the eval as it has ended.
 */

import { createHash, randomBytes } from "node:crypto";

import { canonicalJson, type Clock, type Ids, isId, type Json, MeshError } from "@mesh/kernel";
import type { AddEvalCasesRequest, CreateEvalRequest, Eval, PlanEvalRequest, PlanEvalResponse } from "@mesh/proto";
import { claimIdempotency, insertAudit, type Store, type Tx } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { EvalApi } from "../gateway/api/eval.ts";
import type { Call } from "../gateway/operation.ts";
import { evalSource, pushEvalBundle } from "./eval-bundle.ts";
import { addCases, readCases } from "./eval-case-store.ts";
import { followEval, readEval } from "./eval-follow.ts";
import { findEval, listCases, listEvals, listResults, type ShownEval, unitsOut } from "./eval-read-store.ts";
import { lockEval } from "./eval-row.ts";
import { cancelEval, MAX_UNITS, planNodes, removeEval, resumeEval, startEval } from "./eval-service.ts";
import type { EvalTail } from "./eval-tail.ts";
import { toEval, toPlannedNode, toResult } from "./eval-view.ts";
import { placementOf, settingsOf } from "./eval-wish.ts";
import { countUnits } from "./unit-store.ts";

/** What the handlers use. */
export interface EvalApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly tail: Pick<EvalTail, "open">;
  /** To be called after a commit that started, stopped, resumed or removed an eval. */
  readonly changed: (evalId: string) => void;
}

const DEFAULT_PAGE = 50;
const DEFAULT_RESULTS = 100;

/** Builds the handlers. */
export function createEvalApi(deps: EvalApiDeps): EvalApi {
  return { ...changing(deps), ...reading(deps) };
}

type Reading = "planEval" | "listEvals" | "getEval" | "listEvalCases" | "listEvalResults" | "followEval";

function changing(deps: EvalApiDeps): Omit<EvalApi, Reading> {
  return {
    pushEvalBundle: (request, call) => pushEvalBundle(deps, request, call),
    createEval: async (request, call) => ({ eval: await createEval(deps, request, call) }),
    addEvalCases: async (request, call) => ({ cases: await addEvalCases(deps, request, call) }),
    startEval: async ({ eval: id }, call) => ({
      eval: await change(deps, id, call, { action: "start", work: startNow }),
    }),
    cancelEval: async ({ eval: id }, call) => {
      const actor = actorOf(call.caller);
      const work = (tx: Tx, evalId: string): Promise<void> => cancelEval(tx, evalId, actor);
      return { eval: await change(deps, id, call, { action: "cancel", work }) };
    },
    resumeEval: async ({ eval: id, retry_errors: retryErrors }, call) => {
      const work = async (tx: Tx, evalId: string): Promise<void> => {
        await setSuite(tx, evalId);
        await resumeEval(tx, evalId, { retryErrors });
      };
      return { eval: await change(deps, id, call, { action: "resume", work }) };
    },
    removeEval: async ({ eval: id }, call) => {
      const row = await allowed(deps, id, call, "write");
      await deps.store.sql.begin(async (tx) => {
        await removeEval(tx, id);
        await audit(deps, tx, call, { action: "remove", row });
      });
      deps.changed(id);
      return {};
    },
  };
}

function reading(deps: EvalApiDeps): Pick<EvalApi, Reading> {
  const { sql } = deps.store;
  return {
    planEval: (request, call) => planEval(deps, request, call),
    listEvals: async (request, { caller }) => {
      const workspace = await deps.access.workspace(caller, request.workspace, "read");
      const { assistant, state, page_token: before } = request;
      const limit = request.page_size === 0 ? DEFAULT_PAGE : request.page_size;
      const rows = await listEvals(sql, { workspaceId: workspace.id, assistant, state, before, limit });
      return { evals: await listed(deps, rows), next_page_token: rows.length === limit ? (rows.at(-1)?.id ?? "") : "" };
    },
    getEval: async ({ eval: id }, call) => ({ eval: await readEval(deps, await allowed(deps, id, call, "read")) }),
    listEvalCases: async ({ eval: id, at, page_size: size }, call) => {
      await allowed(deps, id, call, "read");
      const bodies = await listCases(sql, id, at, size === 0 ? DEFAULT_RESULTS : size);
      return { cases: bodies.map((body) => JSON.parse(body) as Record<string, unknown>) };
    },
    listEvalResults: async (request, call) => {
      await allowed(deps, request.eval, call, "read");
      const { eval: evalId, after_seq: afterSeq, case_id: caseId, status, node } = request;
      const limit = request.page_size === 0 ? DEFAULT_RESULTS : request.page_size;
      const rows = await listResults(sql, { evalId, afterSeq, limit, caseId, status, node });
      return { results: rows.map((row) => toResult(row, request.brief)), next_after_seq: rows.at(-1)?.seq ?? 0 };
    },
    followEval: async function* follow(request, call) {
      yield* followEval(deps, await allowed(deps, request.eval, call, "read"), request, call);
    },
  };
}

/** The row of an eval that the caller may use; throws as {@link Access} does. */
async function allowed(deps: EvalApiDeps, id: string, call: Call, need: Need): Promise<ShownEval> {
  const row = isId("eval", id) ? await findEval(deps.store.sql, id) : undefined;
  await deps.access.object(call.caller, row?.workspace_id, need, { kind: "eval", id, list: "yao evals list" });
  if (row === undefined) throw new MeshError("not_found", `eval ${id} was not found; see yao evals list`);
  return row;
}

async function planEval(deps: EvalApiDeps, request: PlanEvalRequest, { caller }: Call): Promise<PlanEvalResponse> {
  const workspace = await deps.access.workspace(caller, request.workspace, "read");
  const placement = placementOf(request.placement);
  const devices = await planNodes(deps.store.sql, { workspaceId: workspace.id, placement });
  const active = devices.filter(({ state }) => state === "active").length;
  const units = countUnits({ cases: request.cases, runs: request.runs || 1, placement, devices: active });
  return { nodes: devices.map(toPlannedNode), units: Math.min(units, 2 ** 32 - 1) };
}

async function createEval(deps: EvalApiDeps, request: CreateEvalRequest, call: Call): Promise<Eval> {
  const { store, ids } = deps;
  const workspace = await deps.access.workspace(call.caller, request.workspace, "write");
  const placement = placementOf(request.placement);
  const settings = settingsOf(request.settings);
  const cases = readCases(request.cases, 0, settings.simulator);
  if (cases.length === 0 && !request.draft) {
    throw new MeshError("invalid_argument", "cases is required: give cases, or set draft and add them later");
  }
  requireUnits(cases.length, settings.runs, placement.mode === "mirror" ? placement.copies : 1);
  const wanted = { workspace, assistant: request.assistant, digest: request.bundle_digest };
  const source = await evalSource(deps, wanted, call);
  if (placement.nodes.length > 0) await planNodes(store.sql, { workspaceId: workspace.id, placement });
  const id = ids.next("eval");
  const createdBy = actorOf(call.caller);
  const given = await store.sql.begin(async (tx) => {
    const earlier = await claimKey(tx, request, { createdBy, id });
    if (earlier !== undefined) return earlier;
    await tx`
      INSERT INTO evals (id, workspace_id, name, assistant_id, app_name, bundle_digest, nonce, placement, settings, created_by)
      VALUES (${id}, ${workspace.id}, ${request.name}, ${source.assistantId}, ${source.appName}, ${source.digest},
        ${randomBytes(4).toString("hex")}, ${JSON.stringify(placement)}::text::jsonb, ${JSON.stringify(settings)}::text::jsonb,
        ${createdBy})`;
    if (cases.length > 0) await addCases(tx, id, 0, cases);
    if (!request.draft) await startNow(tx, id);
    const row = { id, workspace_id: workspace.id };
    await audit(deps, tx, call, {
      action: "create",
      row,
      detail: { assistant: source.assistantId, cases: cases.length },
    });
    return id;
  });
  if (!request.draft) deps.changed(given);
  return readEval(deps, await mustFind(deps, given));
}

async function claimKey(
  tx: Tx,
  request: CreateEvalRequest,
  { createdBy, id }: { readonly createdBy: string; readonly id: string },
): Promise<string | undefined> {
  const { idempotency_key: key, ...content } = request;
  if (key === "") return undefined;
  const text = canonicalJson(JSON.parse(JSON.stringify(content)) as Json);
  const requestHash = createHash("sha256").update(text).digest("hex");
  return claimIdempotency(tx, { scope: `evals:${createdBy}`, key, requestHash, resultId: id });
}

async function addEvalCases(deps: EvalApiDeps, request: AddEvalCasesRequest, call: Call): Promise<number> {
  const row = await allowed(deps, request.eval, call, "write");
  const { simulator = "", runs = 1 } = row.settings;
  const cases = readCases(request.cases, request.at, simulator);
  return deps.store.sql.begin(async (tx) => {
    const locked = await lockEval(tx, row.id);
    if (locked?.state !== "draft") {
      throw new MeshError("failed_precondition", `eval ${row.id} is no draft any more: it takes no further cases`);
    }
    const count = await addCases(tx, row.id, request.at, cases);
    requireUnits(count, runs, locked.placement.mode === "mirror" ? locked.placement.copies : 1);
    return count;
  });
}

function requireUnits(cases: number, runs: number, copies: number): void {
  const units = cases * runs * copies;
  if (units <= MAX_UNITS) return;
  throw new MeshError(
    "invalid_argument",
    `an eval has at most ${MAX_UNITS} units; ${cases} cases in ${runs} runs${copies > 1 ? ` and ${copies} copies` : ""} are ${units}`,
  );
}

async function startNow(tx: Tx, evalId: string): Promise<void> {
  await setSuite(tx, evalId);
  await startEval(tx, evalId);
}

/** Gives the suite the digest that a local eval of the same cases has; once. */
async function setSuite(tx: Tx, evalId: string): Promise<void> {
  await tx`
    UPDATE evals SET suite = left(encode(sha256((
      SELECT string_agg(convert_to(c.case_id, 'UTF8') || '\\x00'::bytea || convert_to(c.hash || E'\\n', 'UTF8'), ''::bytea
        ORDER BY c.ordinal)
      FROM eval_cases c WHERE c.eval_id = ${evalId}
    )), 'hex'), 16)
    WHERE id = ${evalId} AND suite = '' AND state IN ('draft', 'cancelled')
      AND EXISTS (SELECT 1 FROM eval_cases c WHERE c.eval_id = ${evalId})`;
}

interface Change {
  readonly action: "start" | "cancel" | "resume";
  readonly work: (tx: Tx, evalId: string) => Promise<void>;
}

async function change(deps: EvalApiDeps, id: string, call: Call, { action, work }: Change): Promise<Eval> {
  const row = await allowed(deps, id, call, "write");
  await deps.store.sql.begin(async (tx) => {
    const before = await lockEval(tx, id);
    await work(tx, id);
    const after = await findEval(tx, id);
    // Saying it again changes nothing, and is not told.
    if (before?.state !== after?.state) await audit(deps, tx, call, { action, row });
  });
  deps.changed(id);
  return readEval(deps, await mustFind(deps, id));
}

async function audit(
  { ids }: EvalApiDeps,
  tx: Tx,
  { caller }: Call,
  entry: {
    readonly action: "create" | "remove" | Change["action"];
    readonly row: Pick<ShownEval, "id" | "workspace_id">;
    readonly detail?: Record<string, string | number>;
  },
): Promise<void> {
  const { action, row, detail } = entry;
  await insertAudit(tx, {
    id: ids.next("audit"),
    actor: actorOf(caller),
    action: `eval.${action}`,
    object: row.id,
    workspaceId: row.workspace_id,
    ...(detail === undefined ? {} : { detail }),
  });
}

async function mustFind({ store }: EvalApiDeps, id: string): Promise<ShownEval> {
  const row = await findEval(store.sql, id);
  if (row === undefined) throw new MeshError("not_found", `eval ${id} was removed`);
  return row;
}

async function listed({ store }: EvalApiDeps, rows: readonly ShownEval[]): Promise<Eval[]> {
  const active = rows.filter(({ state }) => state === "running" || state === "cancelling").map(({ id }) => id);
  const out = active.length === 0 ? [] : await unitsOut(store.sql, active);
  return rows.map((row) => {
    const mine = out.filter(({ eval_id: id }) => id === row.id);
    return toEval(row, { devices: [], parts: [], out: new Map(mine.map(({ node_id: id, units }) => [id, units])) });
  });
}
