/** What one run is given: data from the work item, and the ports it reaches the world through. */

import type { AgentTool, Log } from "@mesh/agent";
import type { App, EnvLookup, WorkspaceConnector } from "@mesh/assistants";
import type { Clock, JsonObject } from "@mesh/kernel";
import type { PriceBook, ProviderRegistry } from "@mesh/llm";
import type { McpClients } from "@mesh/mcp";

import type { ChatMessage } from "./chat-message.ts";
import type { FilePort } from "./file-port.ts";
import type { OpCaller } from "./op/op-table.ts";
import type { ScriptPort } from "./script-port.ts";
import type { StatePort } from "./state-port.ts";
import type { SteeringPort } from "./steering.ts";
import type { TestPort } from "./test-port.ts";

import type { ItemAnswer } from "./pending.ts";

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
  /** More of `ctx.authorized` than the ids above, such as constraints. */
  readonly authorized?: JsonObject;
  /** Facts for `ctx.client`. */
  readonly client?: { readonly type?: string; readonly user_agent?: string; readonly ip?: string };
}

/** What a run that waited goes on with. */
export interface Resume {
  /** Text of the saved run, as `SuspendedRun` had it. */
  readonly state: string;
  readonly answers: readonly ItemAnswer[];
}

/** One run to execute. */
export interface RunInput {
  readonly app: App;
  readonly assistantId: string;
  readonly input: string;
  /** The conversation, `input` included; `input` alone when absent. */
  readonly messages?: readonly ChatMessage[];
  /** Call options: connector, model, temperature, tools, ...; they win over the assistant's. */
  readonly options: JsonObject;
  /** Data of the caller for `$CTX.*`; never authority. */
  readonly metadata: JsonObject;
  readonly context: RunContext;
  /** The workspace's own connectors by id, with their keys. */
  readonly connectors: ReadonlyMap<string, WorkspaceConnector>;
  /** Looks up `$ENV.NAME`. */
  readonly env: EnvLookup;
  /** Present when the run goes on from where it waited. */
  readonly resume?: Resume;
}

/** What a run needs from outside. */
export interface RunPorts {
  readonly clock: Clock;
  /** Model protocols. */
  readonly providers: ProviderRegistry;
  /** What models cost; without it no cost is known. */
  readonly prices?: PriceBook;
  /** Randomness in [0, 1), for the jitter of retries. */
  readonly random?: () => number;
  /** The built-in tools of this place, made when a run uses some. */
  readonly tools?: () => Promise<readonly AgentTool[]>;
  readonly log?: Log;
  /** Executes hooks and other scripts; without it an assistant that has hooks cannot run. */
  readonly scripts?: ScriptPort;
  /** The MCP servers of the workspace. */
  readonly mcp?: McpClients<OpCaller>;
  /** Memory, models and chats of the workspace. */
  readonly state?: StatePort;
  /** The workspace's folder on this device. */
  readonly files?: FilePort;
  /** What people say to the run while it works. */
  readonly steering?: SteeringPort;
  /** Serves the `t` of a test function; only where tests run. */
  readonly test?: TestPort;
}
