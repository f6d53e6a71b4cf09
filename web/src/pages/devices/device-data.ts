/** The devices as the page has them; the feed keeps them up to date. */

import type { FeedEvent } from "@mesh/proto";
import { type QueryClient, useQuery } from "@tanstack/react-query";

import { listNodes } from "../../api/nodes.ts";
import { useFeed } from "../../feed/use-feed.tsx";

/** All devices. */
export function useNodes() {
  // The feed leaves out what moves all the time; a run that starts or ends is when the used slots change.
  useFeed("run", reloadNodes);
  return useQuery({ queryKey: ["nodes"], queryFn: () => listNodes({}) });
}

function reloadNodes(_event: FeedEvent, client: QueryClient): boolean {
  void client.invalidateQueries({ queryKey: ["nodes"] }, { cancelRefetch: false });
  return true;
}
