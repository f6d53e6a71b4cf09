/** What a request asks of an eval, as it is stored: every value is set. Pure. */

import { isObject, type JsonObject, MeshError } from "@mesh/kernel";
import { type EvalPlacement, EvalSettings } from "@mesh/proto";

import type { StoredEvalPlacement, StoredEvalSettings } from "./eval-row.ts";

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_RETRIES = 2;
const CONTEXT_RECORDS = ["authorized", "metadata", "client"];
const CONTEXT_TEXTS = ["chat_id", "locale", "referer"];

/** Throws `invalid_argument` for copies that do not go with the mode. */
export function placementOf(wish: EvalPlacement | undefined): StoredEvalPlacement {
  const { mode = "", copies = 0, max_nodes: maxNodes = 0, nodes = [], labels = {} } = wish ?? {};
  const known = modeOf(mode);
  if (known === "mirror" && copies < 2) {
    throw new MeshError("invalid_argument", "placement.copies says on how many devices a mirrored unit runs: 2 to 16");
  }
  if (known !== "mirror" && copies > 1) {
    throw new MeshError("invalid_argument", `placement.copies goes with the mode mirror, not with ${known}`);
  }
  if (known === "mirror" && maxNodes > 0 && maxNodes < copies) {
    throw new MeshError("invalid_argument", `${copies} copies do not fit on ${maxNodes} devices; raise max_nodes`);
  }
  return { mode: known, copies: known === "mirror" ? copies : 1, max_nodes: maxNodes, nodes, labels };
}

function modeOf(mode: string): StoredEvalPlacement["mode"] {
  if (mode === "") return "spread";
  if (mode === "spread" || mode === "each" || mode === "mirror" || mode === "sticky") return mode;
  throw new MeshError("invalid_argument", `placement.mode must be spread, each, mirror or sticky, not "${mode}"`);
}

const NO_WISH = EvalSettings.fromPartial({});

/** Throws `invalid_argument` for a context that is none. */
export function settingsOf(wish: EvalSettings = NO_WISH): StoredEvalSettings {
  const { retries = DEFAULT_RETRIES, duplicate_stragglers: duplicates = true, context, ...rest } = wish;
  return {
    ...rest,
    runs: wish.runs || 1,
    parallel: wish.parallel || 1,
    timeout_ms: wish.timeout_ms || DEFAULT_TIMEOUT_MS,
    retries,
    context: contextOf(context),
    duplicate_stragglers: duplicates,
  };
}

function contextOf(context: EvalSettings["context"]): JsonObject | null {
  if (context === undefined) return null;
  for (const [key, value] of Object.entries(context)) {
    const isRecord = CONTEXT_RECORDS.includes(key);
    if (!isRecord && !CONTEXT_TEXTS.includes(key)) {
      throw new MeshError("invalid_argument", `settings.context.${key} is not a known field`);
    }
    if (isRecord ? !isObject(value) : typeof value !== "string") {
      throw new MeshError("invalid_argument", `settings.context.${key} must be ${isRecord ? "an object" : "a text"}`);
    }
  }
  return context;
}
