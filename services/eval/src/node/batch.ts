/**
 * A batch as it comes to a device: one JSON text, read and checked. Pure.
 *
 * What is wrong with it is the coordinator's fault, or that of its version: the batch fails as a whole, before anything runs.
 */

import { errorText, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { CaseResult } from "../result.ts";
import { contextOf } from "../run/context-file.ts";
import { type IdentitySettings, NO_CONTEXT } from "../run/identity.ts";
import type { BatchSettings, BatchUnit } from "./run-batch.ts";

/** One unit of an eval: a case, which run of it, which copy of that. */
export interface FleetUnit extends BatchUnit {
  /** Position of the case in the eval, from 0. */
  readonly ordinal: number;
  /** From 1. */
  readonly copy: number;
}

/** What is the same for all batches of an eval on one device. */
export interface FleetSettings extends Omit<BatchSettings, "baseDir"> {
  readonly beforeAll?: string;
  readonly afterAll?: string;
  /** Calls of models are counted over all devices. */
  readonly isRated: boolean;
}

/** A batch; see the file comment. */
export type EvalBatch = { readonly evalId: string; readonly settings: FleetSettings } & (
  | { readonly phase: "before"; readonly cases: readonly JsonObject[] }
  | { readonly phase: "units"; readonly units: readonly FleetUnit[] }
  | { readonly phase: "after"; readonly results: readonly CaseResult[]; readonly data: Json | undefined }
);

const MAX_PARALLEL = 256;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

/** Reads a batch; throws `invalid_argument` for what is none. */
export function readBatch(text: string): EvalBatch {
  const batch = objectIn(text);
  const evalId = textOf(batch, "eval_id");
  const settings = settingsOf(objectOf(batch, "settings"), textOf(batch, "nonce"));
  const base = { evalId, settings };
  switch (batch["phase"]) {
    case "before":
      return { ...base, phase: "before", cases: objectsOf(listOf(batch, "cases"), "cases") };
    case "units":
      return { ...base, phase: "units", units: unitsOf(listOf(batch, "units"), listOf(batch, "cases")) };
    case "after":
      return { ...base, phase: "after", results: resultsOf(batch), data: batch["data"] };
    default:
      throw refused("its phase is not known");
  }
}

function settingsOf(given: JsonObject, nonce: string): FleetSettings {
  const connector = optional(given, "connector");
  const simulator = optional(given, "simulator");
  const device = optional(given, "device");
  const beforeAll = optional(given, "beforeAll");
  const afterAll = optional(given, "afterAll");
  return {
    agentId: textOf(given, "agentId"),
    identity: identityOf(given, nonce),
    timeoutMs: countOf(given, "timeoutMs", MAX_TIMEOUT_MS),
    parallel: countOf(given, "parallel", MAX_PARALLEL),
    // What fails for reasons outside of a case is tried elsewhere.
    retries: 0,
    isRated: given["hasPermits"] === true,
    ...(connector === undefined ? {} : { connector }),
    ...(simulator === undefined ? {} : { simulator }),
    ...(device === undefined ? {} : { device }),
    ...(beforeAll === undefined ? {} : { beforeAll }),
    ...(afterAll === undefined ? {} : { afterAll }),
  };
}

function identityOf(given: JsonObject, nonce: string): IdentitySettings {
  const [user, team, locale] = [optional(given, "user"), optional(given, "team"), optional(given, "locale")];
  const { context } = given;
  return {
    nonce,
    context: isObject(context) ? contextOf(withoutNulls(context), "the batch's context") : NO_CONTEXT,
    ...(user === undefined ? {} : { user }),
    ...(team === undefined ? {} : { team }),
    ...(locale === undefined ? {} : { locale }),
  };
}

function unitsOf(list: readonly Json[], cases: readonly Json[]): readonly FleetUnit[] {
  if (list.length === 0) throw refused("it has no units");
  return list.map((unit) => {
    if (!isObject(unit)) throw refused("one of its units is no object");
    const { ordinal, run, copy, case: index } = unit;
    const test = isCount(index) ? cases[index] : undefined;
    if (!isCount(ordinal) || !isCount(run) || !isCount(copy) || run < 1 || copy < 1 || test === undefined) {
      throw refused("one of its units cannot be read");
    }
    return { ordinal, run, copy, case: test };
  });
}

function resultsOf(batch: JsonObject): readonly CaseResult[] {
  // Handed on to a script as they are; that is why nothing more is asked of them.
  return objectsOf(listOf(batch, "results"), "results") as unknown as readonly CaseResult[];
}

function objectsOf(list: readonly Json[], what: string): readonly JsonObject[] {
  const objects = list.flatMap((each) => (isObject(each) ? [each] : []));
  if (objects.length < list.length) throw refused(`one of its ${what} is no object`);
  return objects;
}

function objectIn(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw refused(errorText(error));
  }
  if (!isObject(parsed)) throw refused("it is no object");
  return parsed as JsonObject;
}

function objectOf(from: JsonObject, key: string): JsonObject {
  const value = from[key];
  if (isObject(value)) return value;
  throw refused(`its ${key} are no object`);
}

function listOf(from: JsonObject, key: string): readonly Json[] {
  const value = from[key];
  if (Array.isArray(value)) return value as readonly Json[];
  throw refused(`its ${key} are no list`);
}

function textOf(from: JsonObject, key: string): string {
  const value = optional(from, key);
  if (value !== undefined) return value;
  throw refused(`it has no ${key}`);
}

/** A text; empty is absent. */
function optional(from: JsonObject, key: string): string | undefined {
  const value = from[key];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw refused(`its ${key} is no text`);
}

function countOf(from: JsonObject, key: string, max: number): number {
  const value = from[key];
  if (isCount(value) && value >= 1) return Math.min(value, max);
  throw refused(`its ${key} is no count`);
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function refused(why: string): MeshError {
  return new MeshError("invalid_argument", `the batch of the eval cannot be read: ${why}; update yao on this device`);
}
