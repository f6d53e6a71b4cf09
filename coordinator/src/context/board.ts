/** Wires the task board. */

import type { Bus } from "@mesh/bus";
import { errorText, type Ids, type Service, systemClock } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { SecretBox } from "../auth/secret-box.ts";
import { createBoardApi } from "../board/board-api.ts";
import { createInboxApi } from "../board/inbox-api.ts";
import { Keeper } from "../board/keeper.ts";
import { Light } from "../board/light.ts";
import { offerMessages } from "../board/steer.ts";
import { createTaskApi } from "../board/task-api.ts";
import type { BoardApi, InboxApi, RunApi, TaskApi } from "../gateway/operation.ts";

/** What the board is made of. */
export interface BoardCore {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly log: Logger;
  readonly elector: { readonly isLeader: boolean };
  readonly pokeQueue: () => void;
  readonly secretBox: SecretBox;
  readonly bus: Pick<Bus, "publish">;
}

/** The wired board. */
export interface Board {
  readonly boards: BoardApi;
  readonly inbox: InboxApi;
  readonly services: readonly Service[];
  tasks(runs: Pick<RunApi, "cancelRun" | "answerRun">): TaskApi;
}

/** Puts it together; `recorded` tells the feed that something was committed. */
export function createBoard(core: BoardCore, recorded: () => void): Board {
  const { store, access, ids, log, elector, pokeQueue } = core;
  const clock = systemClock;
  const light = new Light({
    store,
    secretBox: core.secretBox,
    providers: createProviders({ clock }),
    clock,
    log: log.child({ component: "board" }),
    recorded,
  });
  const offer = (taskId: string): void => {
    offerMessages({ sql: store.sql, bus: core.bus }, taskId).catch((error: unknown) => {
      log.warn(
        { reason: errorText(error), taskId },
        "a message was not offered to the run at work; the next run has it",
      );
    });
  };
  const keeper = new Keeper({
    store,
    ids,
    clock,
    log: log.child({ component: "board" }),
    isLeader: () => elector.isLeader,
    pokeQueue,
    recorded,
    offer,
    ended: (taskId) => light.ended(taskId),
  });
  const changed = (): void => {
    recorded();
    keeper.poke();
  };
  return {
    boards: createBoardApi({ store, access, ids, recorded }),
    inbox: createInboxApi({ store, access, recorded }),
    services: [keeper, light],
    tasks: (runs) => createTaskApi({ store, access, ids, clock, runs, recorded: changed, pokeQueue, offer }),
  };
}
