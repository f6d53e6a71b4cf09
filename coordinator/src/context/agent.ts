/** Wires task agents and share links. */

import type { Ids } from "@mesh/kernel";
import type { Store } from "@mesh/store";

import { createAgentHandlers } from "../agents/agent-api.ts";
import type { Access } from "../auth/access.ts";
import type { AgentsApi } from "../gateway/api/agent.ts";
import type { AppApi, RunApi } from "../gateway/operation.ts";
import { createShareHandlers } from "../shares/share-api.ts";

/** What these parts use. */
export interface AgentCore {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
}

/** Other services, and where links lead. */
export interface AgentPorts {
  readonly apps: Pick<AppApi, "pushApp" | "removeApp">;
  readonly runs: Pick<RunApi, "createRun">;
  readonly publicUrl: () => string;
  readonly recorded: () => void;
}

/** The handlers. */
export function createAgentsApi({ store, access, ids }: AgentCore, ports: AgentPorts): AgentsApi {
  return {
    ...createAgentHandlers({ store, access, ids, apps: ports.apps, recorded: ports.recorded }),
    ...createShareHandlers({ store, access, ids, runs: ports.runs, publicUrl: ports.publicUrl }),
  };
}
