export { Backoff, type BackoffOptions } from "./backoff.ts";
export { type CancelTimer, type Clock, parseDuration, rfc3339, sleepOn, systemClock } from "./clock.ts";
export { Doorbell } from "./doorbell.ts";
export { isEntry } from "./entry.ts";
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  errorText,
  MeshError,
  type MeshErrorInit,
  retryable,
  toErrorCode,
} from "./errors.ts";
export { filePath } from "./file-path.ts";
export {
  type AppId,
  type Id,
  type IdKind,
  type Ids,
  isId,
  type NodeId,
  type RunId,
  systemIds,
  type TokenId,
  ulidOf,
  type UserId,
  type WorkspaceId,
} from "./ids.ts";
export { inheritedEnv } from "./inherited-env.ts";
export { canonicalJson, isObject, type Json, type JsonObject } from "./json.ts";
export { type HeldLock, takeLock } from "./lock-file.ts";
export { nearestName, nearNames } from "./near-name.ts";
export {
  duration,
  flag,
  integer,
  oneOf,
  type OptionRow,
  type OptionSource,
  type OptionTable,
  type OptionValues,
  parseOptions,
  text,
} from "./options.ts";
export { RunGroup, type Service } from "./run-group.ts";
export { until, type UntilOptions } from "./until.ts";
