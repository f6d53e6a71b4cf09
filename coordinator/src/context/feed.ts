/** Wires the feeds of changes. */

import type { Bus } from "@mesh/bus";
import { type Service, systemClock } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { BOARD_FEEDS } from "../board/board-feed.ts";
import { createFeedApi } from "../feed/feed-api.ts";
import type { FeedKind } from "../feed/feed-object.ts";
import { FeedTail } from "../feed/feed-tail.ts";
import { FeedWriter } from "../feed/feed-writer.ts";
import { NODE_FEED } from "../feed/node-feed.ts";
import { createNodeWatch } from "../feed/node-watch.ts";
import { DOCUMENT_FEED } from "../knowledge/document-view.ts";
import type { FeedApi } from "../gateway/operation.ts";

/** Every kind of object whose changes are told with the object; others are told by id alone. */
const FEED_KINDS: readonly FeedKind[] = [NODE_FEED, DOCUMENT_FEED, ...BOARD_FEEDS];

/** What feeds are made of. */
export interface FeedCore {
  readonly store: Store;
  readonly access: Access;
  readonly bus: Bus;
  readonly log: Logger;
  readonly elector: { readonly isLeader: boolean };
}

/** The wired feeds. */
export interface Feeds {
  readonly api: FeedApi;
  readonly services: readonly Service[];
  /** To be called after a commit that recorded changes: numbers come at once instead of within 100 ms. */
  readonly recorded: () => void;
}

/** Puts them together. */
export function createFeeds({ store, access, bus, log, elector }: FeedCore): Feeds {
  const clock = systemClock;
  const isLeader = (): boolean => elector.isLeader;
  const tail = new FeedTail({ store, bus, clock });
  const writer = new FeedWriter({
    store,
    bus,
    clock,
    log: log.child({ component: "feed" }),
    isLeader,
    kinds: FEED_KINDS,
    grown: (ids) => tail.grown(ids),
  });
  const recorded = (): void => writer.poke();
  const watch = createNodeWatch({ store, clock, log: log.child({ component: "feed" }), isLeader, recorded });
  return { api: createFeedApi({ store, access, tail, clock }), services: [tail, writer, watch], recorded };
}
