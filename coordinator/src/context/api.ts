/** Builds the handlers of the public interface. */

import { systemClock } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";

import { createAppApi } from "../assistants/app-api.ts";
import { createTokenApi } from "../auth/token-api.ts";
import { createConnectorApi } from "../connectors/connector-api.ts";
import type { Core } from "../context.ts";
import { createEvalApi, type EvalApiDeps } from "../evals/eval-api.ts";
import type { Api, NodeApi, SystemApi } from "../gateway/operation.ts";
import { OFFLINE_AFTER_MS } from "../membership/candidate-store.ts";
import type { EnrolmentDeps } from "../membership/enrolment.ts";
import { createNodeApi } from "../membership/node-api.ts";
import { createRunApi } from "../runs/run-api.ts";
import { createSystemApi } from "../system/system-api.ts";
import { VERSION } from "../version.ts";
import { createWorkspaceApi } from "../workspaces/workspace-api.ts";
import { accountApi } from "./account.ts";
import { createAgentsApi } from "./agent.ts";
import type { Board } from "./board.ts";
import type { Feeds } from "./feed.ts";
import type { Files } from "./files.ts";
import { createOpenApi } from "./open-api.ts";
import type { Push } from "./push.ts";

/** Features wired in files of their own. */
export interface Features {
  readonly feeds: Feeds;
  readonly board: Board;
  readonly files: Files;
  readonly evals: Pick<EvalApiDeps, "tail" | "changed">;
  readonly push: Push;
}

/** Every handler of the public interface. */
export function createApi(core: Core, { feeds, board, files, evals, push }: Features, publicUrl: () => string): Api {
  const { store, access, ids, bus, secretBox, authenticator, dispatcher, tail, committed } = core;
  const clock = systemClock;
  const runs = createRunApi({ store, access, dispatcher, tail, bus, ids, committed });
  const apps = createAppApi({ store, access, ids, models: core.models, columnSecret: core.columnSecret });
  return {
    feed: feeds.api,
    ...files.api,
    boards: board.boards,
    tasks: board.tasks(runs),
    inbox: board.inbox,
    nodes: nodeApi(core, publicUrl),
    runs,
    workspaces: createWorkspaceApi({ store, access, ids, secretBox, limitsChanged: core.pokeQueue }),
    apps,
    agents: createAgentsApi(core, { apps, runs, publicUrl, recorded: feeds.recorded }),
    connectors: createConnectorApi({ store, access, secretBox, ids, clock, providers: createProviders({ clock }) }),
    tokens: createTokenApi({ store, access, authenticator, ids }),
    accounts: { ...accountApi(core, clock, publicUrl), ...push.api },
    ...createOpenApi(core),
    evals: createEvalApi({ store, access, ids, clock, ...evals }),
    system: systemApi(core),
  };
}

function nodeApi(core: Core, publicUrl: () => string): NodeApi {
  const { config, store, access, ids, bus, committed, tls } = core;
  const clock = systemClock;
  const enrolment: EnrolmentDeps = {
    store,
    trust: core.trust,
    clock,
    ids,
    publicNatsUrls: config.publicNatsUrls,
    spkiPin: tls?.pin,
    prepareNode: core.prepareNode,
  };
  const cutOff = (digest: string): Promise<void> => core.reconciler.cutOff(digest);
  return createNodeApi({
    store,
    access,
    enrolment,
    bus,
    ids,
    publicUrl,
    cutOff,
    fleetChanged: core.pokeQueue,
    committed,
  });
}

function systemApi(core: Core): SystemApi {
  const { bus, store } = core;
  return createSystemApi({
    store,
    offlineAfterMs: OFFLINE_AFTER_MS,
    replica: {
      id: core.replicaId,
      version: VERSION,
      startedAtMs: systemClock.now(),
      isLeader: () => core.elector.isLeader,
      isDraining: () => core.stopping.aborted,
      natsVersion: () => (bus.status.kind === "connected" ? bus.status.serverVersion : ""),
    },
  });
}
