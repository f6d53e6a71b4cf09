/** Evals on a device: what a node needs to run a batch of cases of an app it has. */

export { type EvalBatch, readBatch } from "./batch.ts";
export { EvalHosts, type HostLease, type HostRecipe } from "./eval-hosts.ts";
export { executeBatch } from "./execute-batch.ts";
export { type AskPermit, type PermitAnswer, PermitDesk, type PermitQuestion } from "./permit-desk.ts";
export type { BatchEvent } from "./result-event.ts";
