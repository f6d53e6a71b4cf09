/** Keeps the lists of documents and what was found in them up to date by the feed. */

import type { FeedEvent } from "@mesh/proto";
import type { QueryClient } from "@tanstack/react-query";

/** Loads the lists again. */
export function reloadDocumentPages(_event: FeedEvent, client: QueryClient): boolean {
  const keys = ["document-pages", "document-hits"];
  void client.invalidateQueries(
    { predicate: ({ queryKey: [key] }) => keys.includes(String(key)) },
    { cancelRefetch: false },
  );
  return true;
}
