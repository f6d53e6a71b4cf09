/** Keeps the lists of files up to date by the feed. */

import type { FeedEvent } from "@mesh/proto";
import type { QueryClient } from "@tanstack/react-query";

/** Loads the lists again. */
export function reloadFilePages(_event: FeedEvent, client: QueryClient): boolean {
  void client.invalidateQueries({ queryKey: ["file-pages"] }, { cancelRefetch: false });
  return true;
}
