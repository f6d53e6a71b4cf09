/** Stored apps as the messages of the public interface. */

import { rfc3339 } from "@mesh/kernel";
import type { App, AppVersion, Assistant } from "@mesh/proto";

import type { AppRow, AssistantRow, VersionRow } from "./app-store.ts";

/** An app as users see it. */
export function toApp(row: AppRow): App {
  return {
    id: row.id,
    name: row.name,
    version: row.version,
    digest: row.digest,
    size_bytes: row.size_bytes,
    assistants: row.assistants,
    created_at: rfc3339(row.created_at.getTime()),
    updated_at: rfc3339(row.updated_at.getTime()),
  };
}

/** A version as users see it. */
export function toVersion(row: VersionRow): AppVersion {
  return {
    version: row.version,
    digest: row.digest,
    size_bytes: row.size_bytes,
    created_at: rfc3339(row.created_at.getTime()),
  };
}

/** An assistant as users see it. */
export function toAssistant(row: AssistantRow): Assistant {
  return { ...row, tags: [...row.tags] };
}
