/** Keeps the pages of runs up to date by the feed. */

import type { FeedEvent, ListRunsResponse } from "@mesh/proto";
import type { InfiniteData, QueryClient } from "@tanstack/react-query";

/** Patches a run where it is listed; one that is not listed may belong at the top, so the pages are loaded again. */
export function reloadRunPages(event: FeedEvent, client: QueryClient): boolean {
  let isListed = false;
  client.setQueriesData<InfiniteData<ListRunsResponse>>({ queryKey: ["run-pages"] }, (old) => {
    if (old === undefined || !old.pages.some((page) => page.runs.some(({ id }) => id === event.object))) return old;
    isListed = true;
    const runs = (page: ListRunsResponse): ListRunsResponse["runs"] =>
      page.runs.map((run) => (run.id === event.object ? { ...run, ...event.data } : run));
    return { ...old, pages: old.pages.map((page) => ({ ...page, runs: runs(page) })) };
  });
  if (!isListed) void client.invalidateQueries({ queryKey: ["run-pages"] }, { cancelRefetch: false });
  return true;
}
