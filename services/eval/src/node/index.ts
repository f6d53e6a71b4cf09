/** Evals on a device: what a node needs to run a batch of cases of an app it has. */

export { LocalHost, type LocalHostOptions, type ModelCalls } from "../local/local-host.ts";
export { type BatchDeps, type BatchSettings, type BatchUnit, runBatch } from "./run-batch.ts";
