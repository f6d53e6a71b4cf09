/**
 * Share links: a task to look at, or a task agent to look at or to run, for people without an account.
 *
 * L1  The code is shown once and stored as a hash; a revoked, expired or unknown code is the same `not_found`.
 * L2  A link never allows more than the person who made it may do at that moment; without that person it does not work.
 * L3  What is shown is what `shared-view.ts` lets through.
 * L4  Runs through one link are bounded, and only their own state and answer can be read through it.
 */

import { type Ids, isId, MeshError, rfc3339, type TokenId, type UserId } from "@mesh/kernel";
import type { CreateShareRequest, CreateShareResponse, OpenShareResponse, RunShareRequest, Share } from "@mesh/proto";
import { CreateRunRequest } from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import { findAgent } from "../agents/agent-store.ts";
import { unknownAgent } from "../agents/agent-api.ts";
import type { Access, AllowedWorkspace } from "../auth/access.ts";
import { actorOf, type Caller, mayUseAssistant } from "../auth/caller.ts";
import { hashSecret, isCode, newCode } from "../auth/session.ts";
import { listMessages } from "../board/conversation-store.ts";
import { findTask } from "../board/task-access.ts";
import { readTasks } from "../board/task-row.ts";
import { insertActivity } from "../board/task-store.ts";
import { toTask } from "../board/task-view.ts";
import type { AgentsApi } from "../gateway/api/agent.ts";
import type { Call, RunApi } from "../gateway/operation.ts";
import { sharedMessages, sharedText } from "./shared-view.ts";
import {
  countOpened,
  deleteShare,
  findShare,
  findShareRun,
  insertShare,
  insertShareRun,
  listShares,
  type ShareRow,
  takeRun,
  trimShares,
} from "./share-store.ts";

/** What the handlers use. */
export interface ShareApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly runs: Pick<RunApi, "createRun">;
  readonly publicUrl: () => string;
}

/** The handlers that are about links. */
export type ShareHandlers = Pick<
  AgentsApi,
  "createShare" | "listShares" | "revokeShare" | "openShare" | "runShare" | "getShareRun"
>;

const MAX_SHARES = 500;
const MAX_RUNS_PER_HOUR = 60;
const MAX_MESSAGES = 200;
const RUN_SECONDS = 600;
const QUEUE_SECONDS = 600;

/** Builds them. */
export function createShareHandlers(deps: ShareApiDeps): ShareHandlers {
  const { store, access } = deps;
  return {
    createShare: (request, call) => createShare(deps, request, call),
    listShares: async ({ workspace: ref }, { caller }) => {
      const workspace = await access.workspace(caller, ref, "write");
      return { shares: (await listShares(store.sql, workspace.id)).map(toShare) };
    },
    revokeShare: async ({ workspace: ref, share: id }, call) => {
      const workspace = await access.workspace(call.caller, ref, "write");
      await store.sql.begin(async (tx) => {
        if (!(await deleteShare(tx, workspace.id, id))) {
          throw new MeshError(
            "not_found",
            `link ${id} was not found in workspace ${workspace.name}; see: yao share list`,
          );
        }
        await insertAudit(tx, {
          id: deps.ids.next("audit"),
          actor: actorOf(call.caller),
          action: "share.revoke",
          object: id,
          workspaceId: workspace.id,
        });
      });
      return {};
    },
    openShare: async ({ code }) => {
      const share = await shareOf(deps, code);
      await countOpened(store.sql, share.id);
      return share.task_id === null ? openAgent(deps, share) : openTask(deps, share, share.task_id);
    },
    runShare: (request, call) => runShare(deps, request, call),
    getShareRun: async ({ code, run: id }) => {
      const share = await shareOf(deps, code);
      const run = await findShareRun(store.sql, share.id, id);
      if (run === undefined) throw new MeshError("not_found", `run ${id} was not started through this link`);
      const error = run.failed
        ? { code: "failed", message: "the run failed; try again, or ask who sent you the link" }
        : undefined;
      return { state: run.state, output: sharedText(run.output), error };
    },
  };
}

async function createShare(deps: ShareApiDeps, request: CreateShareRequest, call: Call): Promise<CreateShareResponse> {
  const { caller } = call;
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  const target = await targetOf(deps, request, workspace, call);
  const access = request.access === "run" ? "run" : "view";
  if (access === "run" && target.agentId === undefined) {
    throw new MeshError("invalid_argument", "a task can be shared to be looked at; promote it to share it to be run");
  }
  const id = deps.ids.next("share");
  const code = newCode();
  const row = await deps.store.sql.begin(async (tx) => {
    if ((await trimShares(tx, workspace.id)) >= MAX_SHARES) {
      throw new MeshError("resource_exhausted", `${MAX_SHARES} links work already; revoke some first: yao share list`);
    }
    const ttlSeconds = request.ttl_seconds === 0 ? undefined : request.ttl_seconds;
    const place = { id, workspaceId: workspace.id, hash: hashSecret(code), userId: caller.userId };
    await insertShare(tx, { ...place, ...target, access, ttlSeconds });
    const actor = actorOf(caller);
    if (target.taskId !== undefined) {
      await insertActivity(tx, { id: deps.ids.next("act"), taskId: target.taskId, actor, action: "shared" });
    }
    const object = {
      action: "share.create",
      object: id,
      detail: { of: target.taskId ?? target.agentId ?? "", access },
    };
    await insertAudit(tx, { id: deps.ids.next("audit"), actor, workspaceId: workspace.id, ...object });
    return (await listShares(tx, workspace.id)).find((share) => share.id === id);
  });
  return { share: row === undefined ? undefined : toShare(row), code, url: `${deps.publicUrl()}/s/${code}` };
}

interface Target {
  readonly taskId: string | undefined;
  readonly agentId: string | undefined;
}

async function targetOf(
  deps: ShareApiDeps,
  { task, agent }: CreateShareRequest,
  workspace: AllowedWorkspace,
  call: Call,
): Promise<Target> {
  if ((task === "") === (agent === "")) {
    throw new MeshError("invalid_argument", "name what is shared: either a task or a task agent");
  }
  if (agent !== "") {
    const found =
      mayUseAssistant(call.caller, agent) && (await findAgent(deps.store.sql, workspace.id, agent)) !== undefined;
    if (!found) throw unknownAgent(agent, workspace.name);
    return { taskId: undefined, agentId: agent };
  }
  const place = await findTask(deps, task, call, "write");
  if (place.workspaceId !== workspace.id) {
    throw new MeshError("not_found", `task ${task} was not found in workspace ${workspace.name}; see: yao task list`);
  }
  return { taskId: place.id, agentId: undefined };
}

async function shareOf({ store }: ShareApiDeps, code: string): Promise<ShareRow> {
  const share = isCode(code) ? await findShare(store.sql, hashSecret(code)) : undefined;
  if (share !== undefined) return share;
  throw new MeshError("not_found", "this link does not work any more; ask who sent it to you for a new one");
}

async function openTask({ store }: ShareApiDeps, share: ShareRow, taskId: string): Promise<OpenShareResponse> {
  const [task] = await readTasks(store.sql, [taskId]);
  if (task === undefined) throw new MeshError("not_found", "the task of this link was deleted");
  const messages = await listMessages(store.sql, taskId, 0, MAX_MESSAGES);
  return {
    kind: "task",
    title: sharedText(task.title),
    description: sharedText(task.description),
    access: share.access,
    summary: sharedText(task.summary),
    run_state: toTask(task).run_state,
    messages: sharedMessages(
      messages.map(({ role, at, body }) => ({ role, at: rfc3339(at.getTime()), body: JSON.parse(body) as unknown })),
    ),
  };
}

async function openAgent({ store }: ShareApiDeps, share: ShareRow): Promise<OpenShareResponse> {
  const agent = await findAgent(store.sql, share.workspace_id, share.agent_id ?? "");
  if (agent === undefined) throw new MeshError("not_found", "the task agent of this link was removed");
  const { name: title, description } = agent;
  return {
    kind: "agent",
    title,
    description: sharedText(description),
    access: share.access,
    summary: "",
    run_state: "",
    messages: [],
  };
}

async function runShare(deps: ShareApiDeps, request: RunShareRequest, call: Call): Promise<{ readonly run: string }> {
  const share = await shareOf(deps, request.code);
  if (share.access !== "run" || share.agent_id === null) {
    throw new MeshError("permission_denied", "this link shows something and runs nothing");
  }
  if (!(await takeRun(deps.store.sql, share.id, MAX_RUNS_PER_HOUR))) {
    throw new MeshError(
      "resource_exhausted",
      `this link started ${MAX_RUNS_PER_HOUR} runs within an hour; try again later`,
      { details: { retry_after_seconds: 600 } },
    );
  }
  const wish = CreateRunRequest.fromPartial({
    workspace: share.workspace_id,
    assistant: share.agent_id,
    input: request.input,
    timeout_seconds: RUN_SECONDS,
    queue_ttl_seconds: QUEUE_SECONDS,
    metadata: { share: share.id },
  });
  const { run } = await deps.runs.createRun(wish, { ...call, caller: callerOf(share) });
  if (run === undefined || !isId("run", run.id)) throw new MeshError("internal", "createRun gave no run");
  await insertShareRun(deps.store.sql, share.id, run.id);
  return { run: run.id };
}

/** The person who made the link, held to its one assistant (L2). */
function callerOf(share: ShareRow): Caller {
  return {
    userId: share.user_id as UserId,
    userName: share.user_name,
    tokenId: share.id as TokenId,
    scopes: ["runs"],
    isAdmin: share.user_is_admin,
    workspaceIds: [share.workspace_id],
    assistants: [share.agent_id ?? ""],
  };
}

function toShare(row: ShareRow): Share {
  return {
    id: row.id,
    kind: row.task_id === null ? "agent" : "task",
    target: row.task_id ?? row.agent_id ?? "",
    title: row.title,
    access: row.access,
    created_by: row.user_name,
    created_at: rfc3339(row.created_at.getTime()),
    expires_at: row.expires_at === null ? undefined : rfc3339(row.expires_at.getTime()),
    opened: row.opened,
    last_opened_at: row.last_opened_at === null ? undefined : rfc3339(row.last_opened_at.getTime()),
  };
}
