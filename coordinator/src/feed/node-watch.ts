/** Looks every second what changed about devices, so that it enters the feeds: a device that falls silent changes no row. Works on the leader only. */

import { type Clock, errorText, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import { recordNodeChanges } from "./node-feed.ts";

const LOOK_MS = 1000;

/** What it uses. */
export interface NodeWatchDeps {
  readonly store: Pick<Store, "sql">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  /** Something was recorded. */
  readonly recorded: () => void;
}

/** The looking loop. */
export function createNodeWatch(deps: NodeWatchDeps): Service {
  return {
    name: "node-watch",
    async run(signal) {
      while (!signal.aborted) {
        await deps.clock.sleep(LOOK_MS, signal);
        if (signal.aborted || !deps.isLeader()) continue;
        try {
          if ((await recordNodeChanges(deps.store.sql)) > 0) deps.recorded();
        } catch (error) {
          deps.log.warn({ reason: errorText(error) }, "changes of devices cannot be recorded; tried again");
        }
      }
    },
  };
}
