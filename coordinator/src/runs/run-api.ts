/** RunService: what people and programs do with runs. */

import { type Bus, subjects } from "@mesh/bus";
import { type Ids, isId, MeshError } from "@mesh/kernel";
import {
  type AnswerRunRequest,
  Command,
  type CreateRunRequest,
  type FollowRunResponse,
  type ListRunEventsResponse,
  type RunEvent,
} from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { actorOf, type Caller, mayUseAssistant } from "../auth/caller.ts";
import type { Call, RunApi } from "../gateway/operation.ts";
import { toAnswer } from "./answer-rule.ts";
import { findChat } from "../state/chat-api-store.ts";
import { defaultAssistant } from "./default-assistant.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { EventTail } from "./event-tail.ts";
import { endsRun, requireReached, toRunEvent, withSnapshots } from "./event-view.ts";
import { findNode, type NodeRef, requestCancel, sourceOf } from "./run-api-store.ts";
import { DEFAULT_QUEUE_TTL_S, DEFAULT_TIMEOUT_S, MAX_WORK_BYTES, type RunDraft } from "./run-draft.ts";
import { listEvents, listRuns, type RunRow, type StoredRequirements } from "./run-row.ts";
import { requireMayRun, withLocale } from "./run-right.ts";
import { isTerminal, type OnLost, toRunState } from "./run-state.ts";
import { toRun } from "./run-view.ts";
import { resolveRequirements, unknownNode } from "./requirements.ts";
import { RunReads } from "./run-reads.ts";
import { recordAnswer } from "./waiting-store.ts";

/** What the handlers use. */
export interface RunApiDeps {
  readonly store: Store;
  readonly reads: RunReads;
  readonly access: Access;
  readonly dispatcher: Dispatcher;
  readonly tail: EventTail;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly committed: (runIds: readonly string[]) => void;
}

/** Builds the handlers. */
export function createRunApi(given: Omit<RunApiDeps, "reads">): RunApi {
  const deps: RunApiDeps = { ...given, reads: new RunReads(given.store.sql) };
  return {
    createRun: async (request, call) => {
      const draft = await toDraft(deps, request, call);
      const runId = await deps.dispatcher.create(draft);
      return { run: toRun(await mustFind(deps, runId)), replayed: runId !== draft.id };
    },
    listRuns: async (request, call) => {
      const workspace = await deps.access.workspace(call.caller, request.workspace, "read");
      if (request.state !== "" && toRunState(request.state) === undefined) {
        throw new MeshError("invalid_argument", `"${request.state}" is not a state of a run`);
      }
      const nodeId = request.node === "" ? "" : (await mustFindNode(deps, request.node)).id;
      const limit = request.limit === 0 ? 50 : request.limit;
      const rows = await listRuns(deps.store.sql, {
        workspaceId: workspace.id,
        state: request.state,
        nodeId,
        assistants: call.caller.assistants,
        before: request.cursor,
        limit,
      });
      return { runs: rows.map(toRun), next_cursor: rows.length === limit ? (rows.at(-1)?.id ?? "") : "" };
    },
    getRun: async (request, call) => ({ run: toRun(await allowed(deps, request.run, call, "read")) }),
    cancelRun: (request, call) => cancelRun(deps, request.run, call),
    answerRun: (request, call) => answerRun(deps, request, call),
    retryRun: (request, call) => retryRun(deps, request.run, call),
    listRunEvents: (request, call) => listRunEvents(deps, request, call),
    followRun: (request, call) => followRun(deps, request.run, request.after_seq, call),
  };
}

async function toDraft(deps: RunApiDeps, request: CreateRunRequest, call: Call): Promise<RunDraft> {
  requireFits(request);
  const workspace = await deps.access.workspace(call.caller, request.workspace, "write");
  const assistantId =
    request.assistant === "" ? await defaultAssistant(deps.store.sql, workspace.id) : request.assistant;
  const isAllowed = mayUseAssistant(call.caller, assistantId);
  const assistant = isAllowed ? await deps.reads.assistant(workspace.id, assistantId) : undefined;
  if (assistant === undefined) {
    throw new MeshError(
      "not_found",
      `assistant "${assistantId}" was not found in workspace ${workspace.name}; see yao app list, or push an app with: yao app push DIR`,
    );
  }
  const { settings } = assistant;
  await requireMayRun(deps.store, call.caller, { workspace, settings, assistantId });
  return {
    id: deps.ids.next("run"),
    workspaceId: workspace.id,
    assistantId,
    ...sourceOf(assistant),
    input: request.input,
    options: optionsOf(request),
    metadata: withLocale(
      await metadataOf(deps, request, { caller: call.caller, workspaceId: workspace.id }),
      call.caller,
    ),
    requirements: await resolveRequirements(deps.store.sql, request.requirements, workspace.id, settings),
    onLost: toOnLost(request.on_lost),
    priority: request.priority,
    timeoutMs: (request.timeout_seconds || DEFAULT_TIMEOUT_S) * 1000,
    queueTtlMs: (request.queue_ttl_seconds || DEFAULT_QUEUE_TTL_S) * 1000,
    retryOf: undefined,
    createdBy: actorOf(call.caller),
    idempotencyKey: request.idempotency_key,
  };
}

// A run travels to its device in one message; characters are bounded by the gateway, bytes here.
function requireFits({ input, options, metadata, messages_json: messages }: CreateRunRequest): void {
  const bytes = Buffer.byteLength(input + messages) + Buffer.byteLength(JSON.stringify([options, metadata]));
  if (bytes <= MAX_WORK_BYTES) return;
  throw new MeshError(
    "invalid_argument",
    `input, messages, options and metadata of a run are at most ${MAX_WORK_BYTES / 1024} KB together; these have ${Math.ceil(bytes / 1024)} KB`,
  );
}

/** A conversation travels among the options: that is where a device reads it. */
function optionsOf({ options, messages_json: messages }: CreateRunRequest): Readonly<Record<string, unknown>> {
  if (messages === "") return options ?? {};
  // The gateway has read it once: it is a list of messages.
  return { ...options, messages: JSON.parse(messages) as unknown };
}

/** A chat is the caller's own; a token for some assistants joins none that was begun with another one. */
async function metadataOf(
  { store }: RunApiDeps,
  { metadata, chat }: CreateRunRequest,
  { caller, workspaceId }: { readonly caller: Caller; readonly workspaceId: string },
): Promise<Readonly<Record<string, unknown>>> {
  const all: Readonly<Record<string, unknown>> = chat === "" ? (metadata ?? {}) : { ...metadata, chat_id: chat };
  const { chat_id: chatId } = all;
  if (caller.assistants === undefined || typeof chatId !== "string" || chatId === "") return all;
  const begun = await findChat(store.sql, { workspaceId, userId: actorOf(caller), chatId });
  if (begun === undefined || mayUseAssistant(caller, begun.assistant_id)) return all;
  throw new MeshError("not_found", `you have no chat ${chatId.slice(0, 100)}, or this token may not join it`);
}

async function mustFindNode(deps: RunApiDeps, ref: string): Promise<NodeRef> {
  const node = await findNode(deps.store.sql, ref);
  if (node === undefined) throw unknownNode(ref);
  return node;
}

function toOnLost(text: string): OnLost {
  if (text === "" || text === "hold") return "hold";
  if (text === "replace" || text === "fail") return text;
  throw new MeshError("invalid_argument", `on_lost must be hold, replace or fail, not "${text}"`);
}

async function mustFind(deps: RunApiDeps, runId: string): Promise<RunRow> {
  const row = await deps.reads.run(runId);
  if (row === undefined) throw new MeshError("not_found", `run ${runId} was not found`);
  return row;
}

async function allowed(deps: RunApiDeps, runId: string, call: Call, need: Need): Promise<RunRow> {
  const known = isId("run", runId) ? await deps.reads.run(runId) : undefined;
  // Unknown and not allowed are told apart nowhere.
  const row = known !== undefined && mayUseAssistant(call.caller, known.assistant_id) ? known : undefined;
  await deps.access.object(call.caller, row?.workspace_id, need, { kind: "run", id: runId, list: "yao runs list" });
  if (row === undefined) throw new MeshError("not_found", `run ${runId} was not found; see yao runs list`);
  return row;
}

async function cancelRun(deps: RunApiDeps, runId: string, call: Call): ReturnType<RunApi["cancelRun"]> {
  await allowed(deps, runId, call, "write");
  const running = await requestCancel(deps.store.sql, runId, {
    auditId: deps.ids.next("audit"),
    actor: actorOf(call.caller),
  });
  deps.committed([runId]);
  if (running !== undefined) {
    const command: Command["command"] = {
      $case: "cancel",
      value: { run_id: runId, epoch: running.epoch, why: "user" },
    };
    deps.bus.publish(subjects.command(running.digest), Command.encode({ command }).finish());
  }
  deps.dispatcher.poke();
  return { run: toRun(await mustFind(deps, runId)) };
}

async function answerRun(deps: RunApiDeps, request: AnswerRunRequest, call: Call): ReturnType<RunApi["answerRun"]> {
  const { run: runId } = request;
  await allowed(deps, runId, call, "write");
  const by = { auditId: deps.ids.next("audit"), actor: actorOf(call.caller) };
  const { goesOn } = await recordAnswer(deps.store.sql, runId, toAnswer(request), by);
  deps.committed([runId]);
  if (goesOn) deps.dispatcher.poke();
  return { run: toRun(await mustFind(deps, runId)) };
}

async function retryRun(deps: RunApiDeps, runId: string, call: Call): ReturnType<RunApi["retryRun"]> {
  const old = await allowed(deps, runId, call, "write");
  if (!isTerminal(old.state)) {
    throw new MeshError(
      "failed_precondition",
      `run ${runId} has not ended; cancel it first with: yao runs cancel ${runId}`,
    );
  }
  if ((old.eval_id ?? null) !== null) {
    const resume = `yao evals resume ${old.eval_id}`;
    throw new MeshError("failed_precondition", `run ${runId} is a batch of an eval; go on with the eval: ${resume}`);
  }
  const assistant = await deps.reads.assistant(old.workspace_id, old.assistant_id);
  if (assistant === undefined)
    throw new MeshError("failed_precondition", `assistant "${old.assistant_id}" is no longer there`);
  await requireMayRun(deps.store, call.caller, {
    workspace: await deps.access.workspace(call.caller, old.workspace_id, "write"),
    settings: assistant.settings,
    assistantId: old.assistant_id,
  });
  const { node_id, node } = old.requirements;
  if (node_id !== "" && (await findNode(deps.store.sql, node_id)) === undefined) {
    throw new MeshError(
      "failed_precondition",
      `device ${node}, which run ${runId} names, was removed; start it on another one with: yao run ${old.assistant_id} --node NAME`,
    );
  }
  const draft: RunDraft = {
    id: deps.ids.next("run"),
    workspaceId: old.workspace_id,
    assistantId: old.assistant_id,
    ...sourceOf(assistant),
    input: old.input,
    options: old.options,
    metadata: old.metadata,
    requirements: withoutHome(old.requirements),
    onLost: old.on_lost,
    priority: old.priority,
    timeoutMs: old.timeout_ms,
    queueTtlMs: DEFAULT_QUEUE_TTL_S * 1000,
    retryOf: old.id,
    createdBy: actorOf(call.caller),
    idempotencyKey: "",
  };
  return { run: toRun(await mustFind(deps, await deps.dispatcher.create(draft))) };
}

// A retry begins from nothing, so no device has files of it.
function withoutHome({ home: _home, ...requirements }: StoredRequirements): StoredRequirements {
  return requirements;
}

async function listRunEvents(
  deps: RunApiDeps,
  request: { run: string; after_seq: number; limit: number },
  call: Call,
): Promise<ListRunEventsResponse> {
  const run = await allowed(deps, request.run, call, "read");
  const rows = await listEvents(
    deps.store.sql,
    request.run,
    request.after_seq,
    request.limit === 0 ? 500 : request.limit,
  );
  const last = rows.at(-1);
  return {
    events: await withSnapshots(deps.store.sql, request.after_seq, rows),
    last_seq: last?.seq ?? request.after_seq,
    ended: (last !== undefined && endsRun(last)) || (last === undefined && isTerminal(run.state)),
  };
}

async function* followRun(
  deps: RunApiDeps,
  runId: string,
  afterSeq: number,
  call: Call,
): AsyncGenerator<FollowRunResponse> {
  const run = await allowed(deps, runId, call, "read");
  requireReached(run, afterSeq);
  if (isTerminal(run.state) && afterSeq >= run.last_seq) return;
  const reader = deps.tail.open(runId, afterSeq);
  let cursor = afterSeq;
  try {
    while (!call.signal.aborted) {
      const rows = await reader.next(call.signal);
      if (rows.length === 0) return;
      const gapless = rows.every((row, i) => row.seq === cursor + 1 + i);
      const events: RunEvent[] = gapless ? rows.map(toRunEvent) : await withSnapshots(deps.store.sql, cursor, rows);
      cursor = rows.at(-1)?.seq ?? cursor;
      for (const event of events) yield { event };
      if (rows.some(endsRun)) return;
    }
  } finally {
    reader.close();
  }
}
