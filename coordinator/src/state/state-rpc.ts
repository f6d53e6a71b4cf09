/**
 * Answers what runs ask about the state of their workspace: memory, stores, chats, data.
 *
 * Q1  Who a question is for is read from the run's own row, and only for the node that holds the run's lease in that epoch:
 *     nothing in a question says whose data it concerns.
 * Q2  Two workspaces, two users or two chats with equal names never see each other.
 */

import { type Bus, COORDINATOR_QUEUE, nodeOfSubject, subjects } from "@mesh/bus";
import { type Json, MeshError, retryable, type Service } from "@mesh/kernel";
import { isKeyText } from "@mesh/memory";
import { WorkspaceStateAnswer, WorkspaceStateRequest } from "@mesh/proto";
import { databaseError, type Sql, type Store } from "@mesh/store";

import { appendToChat, chatHistory } from "./chat-store.ts";
import { callMemory, type MemorySpace } from "./memory-store.ts";

/** Whose state a run may reach. */
export interface RunScope {
  readonly runId: string;
  readonly workspaceId: string;
  readonly userId: string;
  readonly assistantId: string;
  readonly chatId: string | undefined;
  /** Whose the chat is: the person's, or the task's, which all people of the workspace share. */
  readonly chatOwner: string;
  readonly bundleDigest: string;
}

/** Answers the questions of one service; undefined is a result. */
export type StateHandler = (scope: RunScope, method: string, args: readonly Json[]) => Promise<Json | undefined>;

/** What the responder uses. */
export interface StateRpcDeps {
  readonly bus: Bus;
  readonly store: Store;
  /** Services beside memory, stores and chats. */
  readonly services: Readonly<Record<string, StateHandler>>;
}

const MAX_ANSWER_BYTES = 900 * 1024;
const MAX_STORE_CHARS = 200;
const MAX_CHAT_ID_CHARS = 200;

/** The responder of one replica. */
export function createStateRpc({ bus, store, services }: StateRpcDeps): Service {
  const handlers = new Map<string, StateHandler>(Object.entries({ ...ownServices(store.sql), ...services }));
  return {
    name: "state-rpc",
    async run(signal) {
      const served = bus.serve(
        subjects.anyRpc("workspace"),
        async (data, subject) => {
          const answer = await answerOf(
            { sql: store.sql, handlers },
            nodeOfSubject(subject),
            WorkspaceStateRequest.decode(data),
          );
          return WorkspaceStateAnswer.encode(answer).finish();
        },
        { queue: COORDINATOR_QUEUE },
      );
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      served.stop();
    },
  };
}

async function answerOf(
  { sql, handlers }: { readonly sql: Sql; readonly handlers: ReadonlyMap<string, StateHandler> },
  digest: string,
  request: WorkspaceStateRequest,
): Promise<WorkspaceStateAnswer> {
  try {
    const handler = handlers.get(request.service);
    if (handler === undefined) throw new MeshError("not_found", `there is no state service ${request.service}`);
    const scope = await scopeOf(sql, digest, request);
    const result = await handler(scope, request.method, readArgs(request.args_json));
    const text = result === undefined ? "" : JSON.stringify(result);
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_ANSWER_BYTES) {
      throw new MeshError(
        "resource_exhausted",
        `${request.service} ${request.method} would answer ${Math.ceil(bytes / 1024)} KiB; ask for less at a time`,
      );
    }
    return { result_json: text };
  } catch (error) {
    const failure = databaseError(error);
    if (!retryable(failure.code)) throw failure;
    throw new MeshError(failure.code, "the coordinator cannot reach its database; try again", { cause: error });
  }
}

function readArgs(text: string): readonly Json[] {
  try {
    const args: unknown = JSON.parse(text);
    if (Array.isArray(args)) return args as readonly Json[];
  } catch {
    // Said below.
  }
  throw new MeshError("invalid_argument", "arguments must be the text of a JSON list");
}

async function scopeOf(sql: Sql, digest: string, { run_id, epoch }: WorkspaceStateRequest): Promise<RunScope> {
  const rows = await sql<
    {
      workspace_id: string;
      created_by: string;
      assistant_id: string;
      bundle_digest: string;
      chat: string | null;
      task_id: string | null;
    }[]
  >`
    SELECT r.workspace_id, r.created_by, r.assistant_id, r.bundle_digest, r.metadata ->> 'chat_id' AS chat, r.task_id
    FROM runs r JOIN nodes n ON n.id = r.node_id
    WHERE r.id = ${run_id} AND r.lease_epoch = ${epoch} AND n.digest = ${digest} AND n.removed_at IS NULL
      AND r.state IN ('placed', 'accepted', 'running', 'waiting')`;
  const [run] = rows;
  if (run === undefined) throw new MeshError("failed_precondition", `this device does not hold run ${run_id}`);
  const isChat = run.chat !== null && run.chat !== "";
  if (isChat && (run.chat ?? "").length > MAX_CHAT_ID_CHARS) {
    throw new MeshError("invalid_argument", `the chat_id of a run may have ${MAX_CHAT_ID_CHARS} characters`);
  }
  return {
    runId: run_id,
    workspaceId: run.workspace_id,
    userId: run.created_by,
    assistantId: run.assistant_id,
    chatId: isChat ? (run.chat ?? undefined) : undefined,
    chatOwner: run.task_id ?? run.created_by,
    bundleDigest: run.bundle_digest,
  };
}

function ownServices(sql: Sql): Readonly<Record<string, StateHandler>> {
  return {
    memory: (scope, method, [space, ...args]) => callMemory(sql, spaceOf(scope, space), method, args),
    store: (scope, method, [id, ...args]) => {
      if (typeof id !== "string" || !isKeyText(id, MAX_STORE_CHARS)) {
        throw new MeshError("invalid_argument", `a store needs an id of 1 to ${MAX_STORE_CHARS} characters`);
      }
      return callMemory(sql, { workspaceId: scope.workspaceId, space: "store", owner: id }, method, args);
    },
    chat: async (scope, method, [first]) => {
      const { chatId } = scope;
      if (chatId === undefined) throw new MeshError("failed_precondition", "this run belongs to no chat");
      if (method === "History") return chatHistory(sql, { ...scope, userId: scope.chatOwner, chatId }, first);
      if (method !== "Append") throw new MeshError("not_found", `a chat has no method ${method}`);
      await appendToChat(sql, { ...scope, userId: scope.chatOwner, chatId }, first);
      return undefined;
    },
  };
}

// A workspace is a team: what its members share.
function spaceOf({ workspaceId, userId, chatId, chatOwner }: RunScope, space: Json | undefined): MemorySpace {
  switch (space) {
    case "user":
      return { workspaceId, space, owner: userId };
    case "team":
      return { workspaceId, space, owner: workspaceId };
    case "chat":
      if (chatId === undefined) throw new MeshError("failed_precondition", "this run belongs to no chat");
      return { workspaceId, space, owner: JSON.stringify([chatOwner, chatId]) };
    default:
      throw new MeshError("invalid_argument", `there is no memory space ${JSON.stringify(space)}`);
  }
}
