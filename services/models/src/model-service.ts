/**
 * The models of an app as their callers see them: methods by name, JSON in and out.
 *
 * The workspace and the person are those of the scope, which comes from whoever knows the run, never from a caller's
 * arguments. Calls of one workspace that exceed their share wait for each other, not for those of others.
 */

import { type Json, MeshError, nearestName } from "@mesh/kernel";

import type { Limits, Scope, Session } from "./access.ts";
import type { ModelCatalog } from "./catalog.ts";
import { cipherSource } from "./crypt.ts";
import { Gate } from "./gate.ts";
import type { ModelDefinition } from "./model.ts";
import type { ModelDb } from "./model-db.ts";
import { modelError } from "./model-error.ts";
import { workspaceSchema } from "./name.ts";
import * as read from "./read-method.ts";
import { checkSearch, type SearchHit, type SearchRequest, searchRows } from "./search-models.ts";
import { SelectionCache } from "./selection.ts";
import * as write from "./write-method.ts";

/** What the service works with. */
export interface ModelServiceDeps {
  /** Its pool's statement time-out bounds every query. */
  readonly db: ModelDb;
}

/** Bounds and keys of the service. */
export interface ModelServiceOptions {
  /** The installation's key for columns with `crypt: AES`; without one they cannot be used. */
  readonly columnSecret?: Uint8Array;
  /** Most rows of one result; default 5000. */
  readonly maxRows?: number;
  /** Most bytes of one result, about; default 8 MiB. */
  readonly maxResultBytes?: number;
  /** Calls of one workspace at the same time; default 4. */
  readonly maxConcurrent?: number;
}

const MAX_ROWS = 5000;
const MAX_RESULT_BYTES = 8 * 1024 * 1024;
const MAX_CONCURRENT = 4;
const MAX_WAITING = 500;
const MAX_SEARCHED = 20;

const READS: Readonly<Record<string, read.Method>> = {
  Find: read.find,
  Get: read.get,
  Paginate: read.paginate,
  Count: read.count,
  SelectOption: read.selectOption,
  Metadata: read.metadata,
  Read: read.metadata,
  DSL: read.metadata,
  Exists: async () => true,
  // Tables are brought up to date when an app is pushed, so there is nothing left to do here.
  Migrate: async () => null,
};
const WRITES: Readonly<Record<string, read.Method>> = {
  Create: write.create,
  Update: write.update,
  Save: write.save,
  Upsert: write.upsert,
  Delete: write.remove,
  Destroy: write.destroy,
  Insert: write.insert,
  UpdateWhere: write.updateAll,
  DeleteWhere: write.removeAll,
  DestroyWhere: write.destroyAll,
  DeleteAll: write.removeAll,
  EachSave: write.eachSave,
  EachSaveAfterDelete: write.eachSaveAfterDelete,
};

/** The methods of a model, as documented; case does not matter. */
export const MODEL_METHODS: readonly string[] = [...Object.keys(READS), ...Object.keys(WRITES)];

interface Named {
  readonly name: string;
  readonly run: read.Method;
  readonly isWrite: boolean;
}

const BY_LOWER_NAME: ReadonlyMap<string, Named> = new Map(
  Object.entries({ ...READS, ...WRITES }).map(([name, run]) => [
    name.toLowerCase(),
    { name, run, isWrite: Object.hasOwn(WRITES, name) },
  ]),
);

/** Calls methods of models on behalf of a scope. */
export class ModelService {
  readonly #db: ModelDb;
  readonly #columnSecret: Uint8Array | undefined;
  readonly #limits: Limits;
  readonly #gate: Gate;
  readonly #selections: SelectionCache;

  constructor(deps: ModelServiceDeps, options: ModelServiceOptions = {}) {
    const { maxRows = MAX_ROWS, maxResultBytes = MAX_RESULT_BYTES, maxConcurrent = MAX_CONCURRENT } = options;
    this.#db = deps.db;
    this.#columnSecret = options.columnSecret;
    this.#selections = new SelectionCache(deps.db);
    this.#limits = { maxRows, maxResultBytes };
    this.#gate = new Gate({ maxRunning: maxConcurrent, maxWaiting: MAX_WAITING });
  }

  /** Calls `models.<modelId>.<method>` with these arguments. */
  async call(call: ModelCall): Promise<Json> {
    const { scope, catalog, modelId, method, args } = call;
    const named = methodOf(method);
    const model = catalog.require(modelId);
    if (named.isWrite && model.isReadonly) {
      throw new MeshError("permission_denied", `${model.id} is read-only, so ${named.name} cannot be used`);
    }
    const session = this.#session(scope, catalog);
    return this.#gate.run(session.schema, () => guarded(model, () => named.run(session, model, args)));
  }

  /** Finds rows of these models by words, best first. */
  async search(search: ModelSearch): Promise<readonly SearchHit[]> {
    const { scope, catalog, modelIds, assistantId, request } = search;
    checkSearch(request);
    if (modelIds.length > MAX_SEARCHED) {
      throw new MeshError("invalid_argument", `at most ${MAX_SEARCHED} models can be searched at once`);
    }
    const models = [...new Set(modelIds)].map((id) => catalog.resolve(id, assistantId) ?? catalog.require(id));
    const [first] = models;
    if (first === undefined) return [];
    const session = this.#session(scope, catalog);
    return this.#gate.run(session.schema, () => guarded(first, () => searchRows(session, models, request)));
  }

  #session(scope: Scope, catalog: ModelCatalog): Session {
    const schema = workspaceSchema(scope.workspaceId);
    if (scope.userId === "" || scope.teamId === "") {
      throw new MeshError("invalid_argument", "the scope of a model call must name its user, and a team is not empty");
    }
    return {
      db: this.#db,
      schema,
      catalog,
      scope,
      ciphers: cipherSource(this.#columnSecret, schema),
      selections: this.#selections,
      limits: this.#limits,
    };
  }
}

/** One call of a method. */
export interface ModelCall {
  readonly scope: Scope;
  readonly catalog: ModelCatalog;
  readonly modelId: string;
  readonly method: string;
  readonly args: readonly Json[];
}

/** One search. */
export interface ModelSearch {
  readonly scope: Scope;
  readonly catalog: ModelCatalog;
  readonly modelIds: readonly string[];
  /** Whose short names of models are understood. */
  readonly assistantId?: string;
  readonly request: SearchRequest;
}

function methodOf(method: string): Named {
  const named = BY_LOWER_NAME.get(method.toLowerCase());
  if (named !== undefined) return named;
  const guess = nearestName(method, MODEL_METHODS);
  const hint = guess === undefined ? `the methods are ${MODEL_METHODS.join(", ")}` : `did you mean "${guess}"?`;
  throw new MeshError("unimplemented", `models have no method "${method.slice(0, 100)}"; ${hint}`);
}

async function guarded<T>(model: ModelDefinition, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw modelError(thrown, model);
  }
}
