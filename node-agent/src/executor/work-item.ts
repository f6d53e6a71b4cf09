/** Reads a work item; what the coordinator sent is still input. Pure. */

import { isId, isObject, type JsonObject, MeshError } from "@mesh/kernel";
import { WorkItem } from "@mesh/proto/wire";

/** The parsed parts of a work item. */
export interface WorkData {
  readonly options: JsonObject;
  readonly metadata: JsonObject;
  readonly connectors: JsonObject;
  readonly timeoutMs: number;
}

const MAX_ITEM_BYTES = 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 3_600_000;
const MAX_TIMEOUT_MS = 7 * 24 * 3_600_000;

/** The item, or undefined when it does not even name a run: nobody can be told then. */
export function decodeWorkItem(bytes: Uint8Array): WorkItem | undefined {
  if (bytes.length > MAX_ITEM_BYTES) return undefined;
  try {
    const item = WorkItem.decode(bytes);
    return isId("run", item.run_id) && item.epoch > 0 && item.workspace_id !== "" ? item : undefined;
  } catch {
    return undefined;
  }
}

/** The item's data; throws `invalid_argument` for what this agent does not understand. */
export function readWorkData(item: WorkItem): WorkData {
  if (item.assistant_id === "") throw new MeshError("invalid_argument", "the work item names no assistant");
  return {
    options: objectOf(item.options_json, "options"),
    metadata: objectOf(item.metadata_json, "metadata"),
    connectors: objectOf(item.connectors_json, "connectors"),
    timeoutMs: item.timeout_ms > 0 ? Math.min(item.timeout_ms, MAX_TIMEOUT_MS) : DEFAULT_TIMEOUT_MS,
  };
}

function objectOf(text: string, what: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text === "" ? "{}" : text);
    if (isObject(parsed)) return parsed as JsonObject;
  } catch {
    // Told below.
  }
  throw new MeshError("invalid_argument", `the ${what} of the work item are not a JSON object`);
}
