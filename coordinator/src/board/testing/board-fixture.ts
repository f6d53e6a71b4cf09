/** The board's handlers over a real database, with a keeper and a feed writer that a test turns by hand. For tests. */

import { systemClock, type Clock } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import * as proto from "@mesh/proto";
import type { Task } from "@mesh/proto";

import { createFeedApi } from "../../feed/feed-api.ts";
import { FeedTail } from "../../feed/feed-tail.ts";
import { FeedWriter } from "../../feed/feed-writer.ts";
import { NODE_FEED } from "../../feed/node-feed.ts";
import type { BoardApi, Call, FeedApi, InboxApi, TaskApi } from "../../gateway/operation.ts";
import { type Fleet, startFleet } from "../../membership/testing/fleet.ts";
import { appendToLogs } from "../../runs/run-log.ts";
import { createBoardApi } from "../board-api.ts";
import { BOARD_FEEDS } from "../board-feed.ts";
import { createInboxApi } from "../inbox-api.ts";
import { Keeper } from "../keeper.ts";
import { createTaskApi } from "../task-api.ts";

/** Everything a test touches. */
export interface BoardFixture extends AsyncDisposable {
  readonly fleet: Fleet;
  readonly boards: BoardApi;
  readonly tasks: TaskApi;
  readonly inbox: InboxApi;
  readonly feed: FeedApi;
  readonly writer: FeedWriter;
  readonly keeper: Keeper;
  readonly admin: Call;
  /** Tasks whose open messages were to be offered to the run at work. */
  readonly offers: string[];
  /** A task of the default workspace. */
  create(part?: Partial<proto.CreateTaskRequest>, call?: Call): Promise<Task>;
  get(task: string): Promise<Task>;
  send(task: string, text: string, part?: Partial<proto.SendToTaskRequest>): Promise<proto.SendToTaskResponse>;
  /** What a device would report: messages said whole, then a state. */
  say(runId: string, ...texts: string[]): Promise<void>;
  end(runId: string, state: string, error?: string): Promise<void>;
  /** The run asks a question. */
  ask(runId: string, callId: string, text: string, kind?: "question" | "approval"): Promise<void>;
  /** Turns the keeper until there is nothing to do. */
  keep(): Promise<void>;
  /** Numbers all changes. */
  number(): Promise<void>;
}

/** Starts it; dispose stops it. */
export async function startBoard(options: { readonly clock?: Clock } = {}): Promise<BoardFixture> {
  const fleet = await startFleet();
  const { store, access, ids } = fleet.tenant;
  const clock = options.clock ?? systemClock;
  const recorded = (): void => undefined;
  const pokeQueue = (): void => undefined;
  const tail = new FeedTail({ store, bus: fleet.bus, clock });
  const always = { isLeader: () => true, log: silentLogger, clock, store };
  const writer = new FeedWriter({
    ...always,
    bus: fleet.bus,
    kinds: [NODE_FEED, ...BOARD_FEEDS],
    grown: (workspaces) => tail.grown(workspaces),
  });
  const offers: string[] = [];
  const offer = (taskId: string): void => void offers.push(taskId);
  const keeper = new Keeper({ ...always, ids, pokeQueue, recorded, offer, ended: () => undefined });
  const tasks = createTaskApi({ store, access, ids, clock, runs: fleet.runs, recorded, pokeQueue, offer });
  const admin = fleet.tenant.as(fleet.tenant.admin);
  const stop = new AbortController();
  const tailing = tail.run(stop.signal);
  return {
    fleet,
    boards: createBoardApi({ store, access, ids, recorded }),
    tasks,
    inbox: createInboxApi({ store, access, recorded }),
    feed: createFeedApi({ store, access, tail, clock }),
    writer,
    keeper,
    admin,
    offers,
    async create(part = {}, call = admin) {
      const request = proto.CreateTaskRequest.fromPartial({ workspace: "default", title: "Do it", ...part } as never);
      return must((await tasks.createTask(request, call)).task);
    },
    get: async (task) => must((await tasks.getTask({ task }, admin)).task),
    send: (task, text, part = {}) =>
      tasks.sendToTask(proto.SendToTaskRequest.fromPartial({ task, text, ...part } as never), admin),
    async say(runId, ...texts) {
      const body = (n: number, text: string): Record<string, unknown> => ({
        type: "text",
        message_id: `M${n}-${text.length}`,
        props: { content: text },
      });
      await store.sql.begin((tx) =>
        appendToLogs(
          tx,
          texts.map((text, n) => ({ runId, kind: "message", body: body(n, text) })),
        ),
      );
    },
    async end(runId, state, error) {
      const failure = error === undefined ? null : JSON.stringify({ code: "x", message: error });
      await store.sql.begin(async (tx) => {
        await tx`UPDATE runs SET state = ${state}, error = ${failure}::text::jsonb, finished_at = now() WHERE id = ${runId}`;
        await appendToLogs(tx, [{ runId, kind: "run.finished", body: { state } }]);
      });
    },
    async ask(runId, callId, text, kind = "question") {
      const item = { id: callId, kind, tool: "ask", arguments: {}, text, choices: [], arguments_cut: false };
      await store.sql.begin(async (tx) => {
        await tx`
          UPDATE runs SET state = 'waiting', reason = ${`waiting for your answer: ${text}`}, saved_epoch = lease_epoch
          WHERE id = ${runId}`;
        await tx`
          INSERT INTO run_questions (run_id, epoch, call_id, position, item)
          SELECT id, lease_epoch, ${callId}, 0, ${JSON.stringify(item)} FROM runs WHERE id = ${runId}`;
        await appendToLogs(tx, [{ runId, kind: "run.asked", body: { pending: [item] } }]);
      });
    },
    async keep() {
      while ((await keeper.look()) > 0);
    },
    async number() {
      while ((await writer.number()) > 0);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await tailing;
      await fleet[Symbol.asyncDispose]();
    },
  };
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("nothing was given");
  return value;
}
