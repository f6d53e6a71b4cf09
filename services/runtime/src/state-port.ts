/**
 * What a run asks of the place that keeps its workspace's state. On a device the questions travel to the coordinator; in a
 * local run they are function calls. The other side knows from its own records whose run this is: no argument is authority.
 */

import type { Json } from "@mesh/kernel";

/**
 * Who answers:
 *
 * - `memory`: method of the memory API; arguments `[space, ...]` with space `user`, `team` or `chat`.
 * - `store`: method of the store API; arguments `[storeId, ...]`.
 * - `models`: method of a model process, such as `Paginate`; arguments `[modelId, ...]`.
 * - `chat`: `History [limit]` gives messages, oldest first; `Append [messages]` keeps what was said, once per run.
 * - `search`: `DB [request]` and `KB [request]` give a list of hits.
 * - `attachment`: `Read [id, offset]` gives `{name, content_type, total_bytes, base64}`, a part at a time.
 * - `files`: `List [{path, node, query, recursive}]` gives files on all devices; `Read [{path, node, offset, limit}]` gives
 *   `{file, base64}`, or `{last_known_text, reason}` of a document whose device is off.
 */
export type StateService = "memory" | "store" | "models" | "chat" | "search" | "attachment" | "files";

/** See the file comment. Rejects with a `MeshError` that may be shown to the assistant's author. */
export interface StatePort {
  call(service: StateService, method: string, args: readonly Json[], signal: AbortSignal): Promise<Json | undefined>;
}
