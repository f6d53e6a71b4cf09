/** The work of an eval goes to devices as runs: runs of its assistant tell that something about it may have changed. */

import type { FeedEvent } from "@mesh/proto";
import { useCallback, useEffect, useRef } from "react";

import { browserClock } from "../../app/clock.ts";
import { useFeed } from "../../feed/use-feed.tsx";

/** How often at most it is looked again. */
const AGAIN_MS = 2_000;

/** Calls `look` a moment after runs of these assistants have changed, however many. */
export function useBatchNews(assistants: readonly string[], look: () => void): void {
  const latest = useRef({ assistants, look });
  latest.current = { assistants, look };
  const cancel = useRef<() => void>(undefined);
  useEffect(() => () => cancel.current?.(), []);
  const onRun = useCallback(({ data }: FeedEvent): boolean => {
    const assistant: unknown = data?.["assistant"];
    if (typeof assistant !== "string" || !latest.current.assistants.includes(assistant)) return false;
    cancel.current ??= browserClock.after(AGAIN_MS, () => {
      cancel.current = undefined;
      latest.current.look();
    });
    return false;
  }, []);
  useFeed("run", onRun);
}
