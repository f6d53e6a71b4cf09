/** Models with real tables for tests: a database of its own, an app of model files, a caller. */

import { type Json, type JsonObject, systemIds } from "@mesh/kernel";
import { openStore, type Store } from "@mesh/store";
import { type TestDatabase, testDatabase } from "@mesh/store/testing";

import type { Scope } from "../access.ts";
import { loadCatalog, type ModelCatalog } from "../catalog.ts";
import { type MigrateOptions, type MigrateResult, migrateModels } from "../migrate.ts";
import { type ModelDb, modelDb } from "../model-db.ts";
import { ModelService, type ModelServiceOptions } from "../model-service.ts";

/** Model files by path; a path without a folder is in `models/`. */
export type ModelFiles = Readonly<Record<string, JsonObject>>;

const ids = systemIds();

/** The catalog of these files; throws when a file has an error. */
export function catalogOf(files: ModelFiles): ModelCatalog {
  const { catalog, problems } = loadCatalog(
    Object.entries(files).map(([path, model]) => ({
      path: path.includes("/") ? path : `models/${path}.mod.yao`,
      text: JSON.stringify(model),
    })),
  );
  const errors = problems.filter((problem) => problem.severity === "error");
  if (errors.length > 0) throw new Error(errors.map((problem) => problem.message).join("\n"));
  return catalog;
}

/** A workspace nobody else uses, and a person in it. */
export function newScope(more: Partial<Scope> = {}): Scope {
  return { workspaceId: ids.next("ws"), userId: ids.next("user"), ...more };
}

/** One database with a service over it. */
export class ModelFixture implements AsyncDisposable {
  readonly store: Store;
  readonly db: ModelDb;
  readonly #database: TestDatabase;

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.store = openStore({ url: database.url, maxConnections: 6, statementTimeoutMs: 10_000 });
    this.db = modelDb(this.store);
  }

  static async open(): Promise<ModelFixture> {
    return new ModelFixture(await testDatabase());
  }

  migrate(catalog: ModelCatalog, scope: Scope, options: Partial<MigrateOptions> = {}): Promise<MigrateResult> {
    return migrateModels(this.db, catalog, { workspaceId: scope.workspaceId, app: "app", ...options });
  }

  /** Migrates the files into a workspace and gives a caller of their methods. */
  async app(files: ModelFiles, scope: Scope = newScope(), options: ModelServiceOptions = {}): Promise<Caller> {
    const catalog = catalogOf(files);
    await this.migrate(
      catalog,
      scope,
      options.columnSecret === undefined ? {} : { columnSecret: options.columnSecret },
    );
    return new Caller(new ModelService({ db: this.db }, options), catalog, scope);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close();
    await this.#database.drop();
  }
}

/** Calls methods as one person. */
export class Caller {
  readonly service: ModelService;
  readonly catalog: ModelCatalog;
  readonly scope: Scope;

  constructor(service: ModelService, catalog: ModelCatalog, scope: Scope) {
    this.service = service;
    this.catalog = catalog;
    this.scope = scope;
  }

  /** The same models seen by somebody else. */
  as(scope: Partial<Scope>): Caller {
    return new Caller(this.service, this.catalog, { ...this.scope, ...scope });
  }

  /** Calls `<model>.<method>`; the result is taken for what the test expects. */
  async call<Result = unknown>(process: string, ...args: Json[]): Promise<Result> {
    const dot = process.lastIndexOf(".");
    const [modelId, method] = [process.slice(0, dot), process.slice(dot + 1)];
    const { scope, catalog } = this;
    return (await this.service.call({ scope, catalog, modelId, method, args })) as Result;
  }
}

/** A model of these columns, with an id. */
export function modelOf(columns: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return { name: "test", columns: [{ name: "id", type: "ID" }, ...columns], ...more };
}
