/** The feed as components see it. */

import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { create } from "zustand";

import { useSession } from "../app/session.ts";
import { browserClock } from "../app/clock.ts";
import { FeedApplier, type FeedHandler } from "./apply.ts";
import { SharedFeed } from "./shared-feed.ts";

/** Whether the server is heard from; `since` is when it was last, in milliseconds since 1970. */
export const useFeedStatus = create<{ readonly isOnline: boolean; readonly hasBeenOnline: boolean }>()(() => ({
  isOnline: false,
  hasBeenOnline: false,
}));

const Applier = createContext<FeedApplier | undefined>(undefined);

/** Follows a workspace as long as it is rendered. */
export function FeedProvider(props: {
  readonly workspace: string;
  readonly cursor: number;
  readonly children: ReactNode;
}): ReactNode {
  const { workspace, cursor, children } = props;
  const client = useQueryClient();
  const applier = useMemo(() => new FeedApplier(client, browserClock), [client]);
  useEffect(() => {
    const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("yao-feed");
    // Absent in browsers that are old, and where the page came over plain HTTP from another device.
    const locks = "locks" in navigator ? navigator.locks : undefined;
    const feed = new SharedFeed(
      { clock: browserClock, fetch: (path, init) => fetch(path, init), locks, channel },
      {
        onEvent: (event) => applier.apply(event),
        onHole: () => applier.reload(),
        onOnline: (isOnline) => useFeedStatus.setState(isOnline ? { isOnline, hasBeenOnline: true } : { isOnline }),
        onUnauthenticated: () => useSession.getState().leave(),
      },
      { workspace, cursor },
    );
    const wake = (): void => {
      if (document.visibilityState === "visible") feed.wake();
    };
    // Out of the back-forward cache: whatever was said meanwhile was not heard.
    const back = (event: PageTransitionEvent): void => {
      if (event.persisted) applier.reload();
      wake();
    };
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    window.addEventListener("pageshow", back);
    feed.open();
    return () => {
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
      window.removeEventListener("pageshow", back);
      feed.close();
      channel?.close();
    };
  }, [applier, workspace, cursor]);
  return <Applier value={applier}>{children}</Applier>;
}

/** Handles events of a kind of object, such as task, as long as the component is shown; keep the handler the same. */
export function useFeed(object: string, handler: FeedHandler): void {
  const applier = useContext(Applier);
  useEffect(() => applier?.onFeed(object, handler), [applier, object, handler]);
}

/** True once the server has not been heard from for five seconds. */
export function useIsOffline(): boolean {
  const isOnline = useFeedStatus((state) => state.isOnline);
  const [isOffline, setIsOffline] = useState(false);
  useEffect(() => {
    if (isOnline) {
      setIsOffline(false);
      return undefined;
    }
    return browserClock.after(5_000, () => setIsOffline(true));
  }, [isOnline]);
  return isOffline && !isOnline;
}
