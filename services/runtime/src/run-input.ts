/** What one run is given: data from the work item, and the ports it reaches the world through. */

import type { App, EnvLookup, WorkspaceConnector } from "@mesh/assistants";
import type { Clock, JsonObject } from "@mesh/kernel";
import type { ChatRegistry } from "@mesh/llm";

/** Who runs what, where; becomes `$CTX.*` and the head of the output stream. */
export interface RunContext {
  readonly runId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly chatId?: string;
  /** Such as en-us. */
  readonly locale?: string;
  /** IANA name for `$SYS.*`; the device's own when absent. */
  readonly timezone?: string;
  readonly theme?: string;
  readonly route?: string;
  readonly referer?: string;
}

/** One run to execute. */
export interface RunInput {
  readonly app: App;
  readonly assistantId: string;
  readonly input: string;
  /** Call options: connector, model, temperature, ...; they win over the assistant's. */
  readonly options: JsonObject;
  /** Data of the caller for `$CTX.*`; never authority. */
  readonly metadata: JsonObject;
  readonly context: RunContext;
  /** The workspace's own connectors by id, with their keys. */
  readonly connectors: ReadonlyMap<string, WorkspaceConnector>;
  /** Looks up `$ENV.NAME`. */
  readonly env: EnvLookup;
}

/** What a run needs from outside. */
export interface RunPorts {
  readonly clock: Clock;
  /** Model protocols by connector type. */
  readonly chat: ChatRegistry;
}
