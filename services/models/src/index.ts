export type { Scope } from "./access.ts";
export { buildCatalog, loadCatalog, ModelCatalog, type ModelFile } from "./catalog.ts";
export { dropModels, migrateModels, type MigrateOptions, type MigrateResult, previewMigration } from "./migrate.ts";
export type { Column, ModelDefinition, ModelProblem, Relation } from "./model.ts";
export { type ModelDb, modelDb } from "./model-db.ts";
export { modelSchema } from "./model-schema.ts";
export {
  MODEL_METHODS,
  type ModelCall,
  type ModelSearch,
  ModelService,
  type ModelServiceDeps,
  type ModelServiceOptions,
} from "./model-service.ts";
export { type ParsedModel, parseModel } from "./parse-model.ts";
export { type MigrationNote, type MigrationPlan, planMigration } from "./plan-migration.ts";
export type { SearchHit, SearchRequest } from "./search-models.ts";
