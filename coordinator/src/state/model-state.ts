/**
 * The models of a run's app, as its scripts reach them.
 *
 * The app is the one of the run's own bundle: a run that began before a push goes on with the models it knows.
 */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { loadApp, readBundle } from "@mesh/assistants";
import { loadCatalog, type ModelCatalog, type ModelDb, ModelService, type Scope } from "@mesh/models";
import type { Sql } from "@mesh/store";

import { modelFiles } from "../assistants/app-models.ts";
import type { RunScope, StateHandler } from "./state-rpc.ts";

/** What the handlers use. */
export interface ModelStateDeps {
  readonly sql: Sql;
  readonly models: ModelDb;
  /** Key of columns that are encrypted. */
  readonly columnSecret: Uint8Array;
}

const MAX_CATALOGS = 32;
// Below what one answer of the bus holds.
const MAX_RESULT_BYTES = 768 * 1024;

/** Answers `models` and `search`. */
export function createModelState({
  sql,
  models,
  columnSecret,
}: ModelStateDeps): Readonly<Record<string, StateHandler>> {
  const service = new ModelService({ db: models }, { columnSecret, maxResultBytes: MAX_RESULT_BYTES });
  const catalogs = new Map<string, Promise<ModelCatalog>>();
  const catalogOf = ({ bundleDigest }: RunScope): Promise<ModelCatalog> => {
    const known = catalogs.get(bundleDigest) ?? loadFor(sql, bundleDigest);
    // Deleted first so that the newest is last.
    catalogs.delete(bundleDigest);
    catalogs.set(bundleDigest, known);
    known.catch(() => catalogs.delete(bundleDigest));
    const oldest = catalogs.keys().next();
    if (catalogs.size > MAX_CATALOGS && oldest.done === false) catalogs.delete(oldest.value);
    return known;
  };
  return {
    models: async (scope, method, [modelId, ...args]) => {
      if (typeof modelId !== "string") throw new MeshError("invalid_argument", "a model call needs the id of a model");
      return service.call({ scope: scopeOf(scope), catalog: await catalogOf(scope), modelId, method, args });
    },
    search: async (scope, method, [request]) => {
      if (method !== "DB") throw new MeshError("not_found", `search has no method ${method}`);
      const { query, models: wanted, wheres, orders, select, limit } = readRequest(request);
      const hits = await service.search({
        scope: scopeOf(scope),
        catalog: await catalogOf(scope),
        modelIds: Array.isArray(wanted) ? wanted.filter((id) => typeof id === "string") : [],
        assistantId: scope.assistantId,
        request: {
          query: typeof query === "string" ? query : "",
          ...(wheres === undefined ? {} : { wheres }),
          ...(orders === undefined ? {} : { orders }),
          ...(select === undefined ? {} : { select }),
          ...(typeof limit === "number" ? { limit } : {}),
        },
      });
      return hits.map((hit): JsonObject => ({
        title: hit.title,
        content: hit.content,
        score: hit.score,
        model: hit.model,
        record_id: hit.id,
        data: hit.row,
      }));
    },
  };
}

function readRequest(request: Json | undefined): JsonObject {
  if (isObject(request)) return request;
  throw new MeshError("invalid_argument", "a search needs {query, models}");
}

// The members of a workspace are a team.
function scopeOf({ workspaceId, userId, chatId, runId }: RunScope): Scope {
  return { workspaceId, userId, teamId: workspaceId, runId, ...(chatId === undefined ? {} : { chatId }) };
}

async function loadFor(sql: Sql, digest: string): Promise<ModelCatalog> {
  const [row] = await sql<{ bytes: Buffer }[]>`SELECT bytes FROM bundles WHERE digest = ${digest}`;
  if (row === undefined) throw new MeshError("not_found", "the bundle of this run is gone");
  return loadCatalog(modelFiles(loadApp(readBundle(row.bytes)).app)).catalog;
}
