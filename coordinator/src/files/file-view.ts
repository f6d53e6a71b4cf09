/** Files as clients see them. */

import { mediaTypeOf } from "@mesh/documents";
import type { File, FileFacts } from "@mesh/proto";

import { type Device, isOn } from "./devices.ts";
import type { FileRow } from "./file-store.ts";

/** An entry of the index. */
export function toFile(row: FileRow): File {
  const online = isOn(row);
  return {
    path: row.path,
    is_directory: row.is_directory,
    size_bytes: row.size_bytes,
    hash: row.hash,
    modified_at: row.modified_at.toISOString(),
    node_id: row.node_id,
    node: row.node,
    online,
    offline_since: online ? undefined : row.last_at.toISOString(),
    media_type: row.is_directory ? "" : mediaTypeOf(row.path),
  };
}

/** What a device has just said of a file. */
export function fromFacts(facts: FileFacts, device: Device): File {
  return {
    path: facts.path,
    is_directory: facts.is_directory,
    size_bytes: facts.size_bytes,
    hash: facts.hash,
    modified_at: new Date(facts.modified_ms).toISOString(),
    node_id: device.id,
    node: device.name,
    online: true,
    offline_since: undefined,
    media_type: facts.is_directory ? "" : mediaTypeOf(facts.path),
  };
}
