/**
 * Promoting tasks to task agents.
 *
 * G1  A task agent is an app like any other, pushed by the person who promotes: it is checked, versioned and placed like one.
 * G2  It has all that the assistant of the task has (connector, tools, scripts, models), and what the task adds.
 * G3  Promoting again makes the next version; an id that is somebody else's assistant is refused.
 */

import { type AppFiles, bundleApp, deriveAssistant, readBundle } from "@mesh/assistants";
import { type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type { Agent, AgentFile, PromoteTaskRequest } from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { actorOf, mayUseAssistant } from "../auth/caller.ts";
import { listMessages, textOfBody } from "../board/conversation-store.ts";
import { findTask } from "../board/task-access.ts";
import { readTasks, type TaskRow } from "../board/task-row.ts";
import { insertActivity } from "../board/task-store.ts";
import { keyOf } from "../board/task-view.ts";
import type { AppApi, Call } from "../gateway/operation.ts";
import type { AgentsApi } from "../gateway/api/agent.ts";
import { defaultAssistant } from "../runs/default-assistant.ts";
import { findAssistants } from "../runs/run-api-store.ts";
import { type AgentDraft, agentIdOf, draftAgent, type SaidMessage } from "./agent-draft.ts";
import {
  type AgentRow,
  documentsOfTask,
  findAgent,
  listAgents,
  listAgentVersions,
  putAgent,
  readBundleBytes,
  newestAssistant,
} from "./agent-store.ts";

/** What the handlers use. */
export interface AgentApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly apps: Pick<AppApi, "pushApp" | "removeApp">;
  /** To be called after a commit that changed tasks: the feed is told at once. */
  readonly recorded: () => void;
}

/** The handlers that are about task agents. */
export type AgentHandlers = Pick<AgentsApi, "previewAgent" | "promoteTask" | "listAgents" | "getAgent" | "removeAgent">;

const MAX_MESSAGES = 400;
const MAX_SHOWN_FILE = 256 * 1024;

/** Builds them. */
export function createAgentHandlers(deps: AgentApiDeps): AgentHandlers {
  const { store, access } = deps;
  return {
    previewAgent: async ({ task: ref }, call) => {
      const { draft } = await draftOf(deps, ref, call, "read");
      const { name, description, instructions, examples, files } = draft;
      return { name, description, instructions, examples, files: [...files] };
    },
    promoteTask: (request, call) => promote(deps, request, call),
    listAgents: async ({ workspace: ref }, { caller }) => {
      const workspace = await access.workspace(caller, ref, "read");
      const rows = await listAgents(store.sql, workspace.id);
      return { agents: rows.filter(({ id }) => mayUseAssistant(caller, id)).map(toAgent) };
    },
    getAgent: async ({ workspace: ref, agent: id }, { caller }) => {
      const workspace = await access.workspace(caller, ref, "read");
      const row = mayUseAssistant(caller, id) ? await findAgent(store.sql, workspace.id, id) : undefined;
      if (row === undefined) throw unknownAgent(id, workspace.name);
      const versions = await listAgentVersions(store.sql, workspace.id, id);
      const bytes = await readBundleBytes(store.sql, row.digest);
      return {
        agent: toAgent(row),
        files: bytes === undefined ? [] : shownFiles(readBundle(bytes)),
        versions: versions.map((version) => ({ ...version, created_at: rfc3339(version.created_at.getTime()) })),
      };
    },
    removeAgent: async ({ workspace: ref, agent: id }, call) => {
      const workspace = await access.workspace(call.caller, ref, "write");
      const row = await findAgent(store.sql, workspace.id, id);
      if (row === undefined) throw unknownAgent(id, workspace.name);
      await deps.apps.removeApp({ workspace: workspace.id, app: row.app }, call);
      await store.sql`UPDATE tasks SET agent = NULL WHERE workspace_id = ${workspace.id} AND agent = ${id}`;
      deps.recorded();
      return {};
    },
  };
}

/** The error of a task agent that nobody knows. */
export function unknownAgent(id: string, workspace: string): MeshError {
  return new MeshError("not_found", `workspace ${workspace} has no task agent ${id}; see: yao agent list`);
}

async function promote(
  deps: AgentApiDeps,
  request: PromoteTaskRequest,
  call: Call,
): Promise<{ readonly agent: Agent | undefined }> {
  const { task, draft } = await draftOf(deps, request.task, call, "write");
  const id = request.agent || (task.agent ?? agentIdOf(task.title, keyOf(task.number)));
  const source = await sourceFiles(deps, task);
  const files = deriveAssistant(source.files, {
    sourceId: source.assistantId,
    id,
    name: request.name || draft.name,
    description: request.description || draft.description,
    instructions: request.instructions || draft.instructions,
    files: new Map(draft.files.map(({ path, text }) => [path, text])),
  });
  const app = `agent-${id}`.slice(0, 63).replace(/-+$/, "");
  const { bytes } = bundleApp(files);
  await deps.apps.pushApp({ workspace: task.workspace_id, app, bundle: Buffer.from(bytes), reset_models: false }, call);
  await deps.store.sql.begin(async (tx) => {
    const actor = actorOf(call.caller);
    await putAgent(tx, { id, workspaceId: task.workspace_id, app, taskId: task.id, createdBy: actor });
    await insertActivity(tx, {
      id: deps.ids.next("act"),
      taskId: task.id,
      actor,
      action: "promoted",
      detail: { agent: id },
    });
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor,
      action: "task.promote",
      object: task.id,
      workspaceId: task.workspace_id,
      detail: { agent: id },
    });
  });
  deps.recorded();
  const row = await findAgent(deps.store.sql, task.workspace_id, id);
  return { agent: row === undefined ? undefined : toAgent(row) };
}

async function draftOf(
  deps: AgentApiDeps,
  ref: string,
  call: Call,
  need: "read" | "write",
): Promise<{ readonly task: TaskRow; readonly draft: AgentDraft }> {
  const { id } = await findTask(deps, ref, call, need);
  const [task] = await readTasks(deps.store.sql, [id]);
  if (task === undefined) throw new MeshError("not_found", `task ${ref} was not found; see: yao task list`);
  const said = await saidIn(deps, id);
  const documents = await documentsOfTask(deps.store.sql, id);
  return { task, draft: draftAgent({ ...task, key: keyOf(task.number), said, documents }) };
}

async function saidIn({ store }: AgentApiDeps, taskId: string): Promise<readonly SaidMessage[]> {
  const rows = await listMessages(store.sql, taskId, 0, MAX_MESSAGES);
  return rows.flatMap(({ role, body }) => {
    const message = JSON.parse(body) as { readonly type?: unknown };
    return message.type === "text" ? [{ role, text: textOfBody(message) }] : [];
  });
}

/** The app that the task's assistant is part of. */
async function sourceFiles(
  { store }: AgentApiDeps,
  task: TaskRow,
): Promise<{ readonly files: AppFiles; readonly assistantId: string }> {
  const assistantId =
    task.assistant === ""
      ? ((await newestAssistant(store.sql, task.id)) ?? (await defaultAssistant(store.sql, task.workspace_id)))
      : task.assistant;
  const key = { workspaceId: task.workspace_id, id: assistantId };
  const [assistant] = await findAssistants(store.sql, [key]);
  const bytes = assistant === undefined ? undefined : await readBundleBytes(store.sql, assistant.bundleDigest);
  if (bytes === undefined) {
    throw new MeshError("failed_precondition", `assistant ${assistantId} of the task is gone; choose another one`);
  }
  return { files: readBundle(bytes), assistantId };
}

function shownFiles(files: AppFiles): AgentFile[] {
  return [...files].flatMap(([path, bytes]) => {
    const text = bytes.length > MAX_SHOWN_FILE ? undefined : textOf(bytes);
    return text === undefined ? [] : [{ path, text }];
  });
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // An image or the like: it is in the bundle, and not to be shown as text.
    return undefined;
  }
}

function toAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    description: row.description,
    version: row.version,
    task_id: row.task_id ?? "",
    task_key: row.task_number === null ? "" : keyOf(row.task_number),
    connector: row.connector,
    created_by: row.created_by,
    created_at: rfc3339(row.created_at.getTime()),
    updated_at: rfc3339(row.updated_at.getTime()),
  };
}
