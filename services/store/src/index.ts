export { type AuditEntry, insertAudit } from "./audit.ts";
export { databaseError } from "./database-error.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
export type { ProcessExit } from "./embedded/server-process.ts";
export { claimIdempotency, forgetIdempotency, type IdempotencyClaim, KEY_REUSED } from "./idempotency.ts";
export { LeaderElector, type LeaderElectorDeps, type LeaderElectorOptions } from "./leader-elector.ts";
export type { StoreLog } from "./log.ts";
export { migrate, type MigrateOptions } from "./migrate.ts";
export type { Database } from "./schema.ts";
export { openStore, type Sql, type Store, type StoreOptions, type Tx } from "./store.ts";
