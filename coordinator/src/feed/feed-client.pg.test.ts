import * as proto from "@mesh/proto";
import type { Task } from "@mesh/proto";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type BoardFixture, startBoard } from "../board/testing/board-fixture.ts";
import { type RunningGateway, startGateway } from "../gateway/testing/running-gateway.ts";
import { scriptedApi } from "../gateway/testing/scripted-api.ts";
import { feedSeq } from "./feed-store.ts";
import { type SeenEvent, streamClients, type TakeEvents } from "./testing/stream-client.ts";

let board: BoardFixture;
let gateway: RunningGateway;

beforeEach(async () => {
  board = await startBoard();
  const api = { ...scriptedApi().api, tasks: board.tasks, feed: board.feed, runs: board.fleet.runs };
  gateway = await startGateway({ api, callers: new Map([["admin", board.fleet.tenant.admin]]) });
});

afterEach(async () => {
  await gateway.stop();
  await board[Symbol.asyncDispose]();
});

/** One thing that happens on the board; impossible ones are refused, which is part of a history too. */
type Step = {
  readonly kind: "create" | "edit" | "move" | "start" | "end" | "archive" | "delete" | "number";
  readonly which: number;
};

const step = fc.record<Step>({
  kind: fc.constantFrom("create", "create", "edit", "move", "start", "end", "archive", "delete", "number"),
  which: fc.nat({ max: 5 }),
});

async function play(steps: readonly Step[]): Promise<void> {
  const made: Task[] = [];
  for (const { kind, which } of steps) {
    const task = made[which % Math.max(1, made.length)]?.id ?? "";
    await act(kind, task, which, made).catch(() => undefined);
  }
  await board.keep();
  await board.number();
}

async function act(kind: Step["kind"], task: string, which: number, made: Task[]): Promise<void> {
  const { tasks, admin } = board;
  switch (kind) {
    case "create":
      made.push(await board.create({ title: `task ${which}` }));
      return;
    case "edit":
      await tasks.updateTask(proto.UpdateTaskRequest.fromPartial({ task, title: `title ${which}` }), admin);
      return;
    case "move": {
      const column = ["Backlog", "To do", "Done"][which % 3] ?? "";
      await tasks.moveTask(proto.MoveTaskRequest.fromPartial({ task, column }), admin);
      return;
    }
    case "start":
      await tasks.startTask({ task, fresh: false }, admin);
      return;
    case "end":
      await board.end((await board.get(task)).run_id ?? "", which % 2 === 0 ? "succeeded" : "failed");
      await board.keep();
      return;
    case "archive":
      await tasks.archiveTask({ task, restore: which % 2 === 0 }, admin);
      return;
    case "delete":
      await tasks.deleteTask({ task }, admin);
      return;
    case "number":
      await board.writer.number();
  }
}

/** Reads until `isComplete`, breaking off after each few events. */
async function readInPieces(
  take: (afterSeq: number, count: number) => Promise<readonly SeenEvent[]>,
  pieces: readonly number[],
  target: () => Promise<number>,
  from = 0,
): Promise<SeenEvent[]> {
  const seen: SeenEvent[] = [];
  let cursor = from;
  for (let i = 0; cursor < (await target()); i += 1) {
    const left = (await target()) - cursor;
    const events = await take(cursor, Math.min(left, pieces[i % pieces.length] ?? 1));
    seen.push(...events);
    cursor = events.at(-1)?.seq ?? cursor;
  }
  return seen;
}

const seqsFrom = (from: number, events: readonly SeenEvent[]): number[] => events.map((_, i) => from + i + 1);

function applied(events: readonly SeenEvent[], board_: Map<string, Task>): Map<string, Task> {
  for (const { kind, object = "", data } of events) {
    if (kind === "task.deleted") board_.delete(object);
    if (kind !== "task.changed") continue;
    const task = data as unknown as Task;
    if (task.revision >= (board_.get(object)?.revision ?? 0)) board_.set(object, task);
  }
  return board_;
}

async function serverBoard(): Promise<Map<string, Task>> {
  const tasks: Task[] = [];
  for (const archived of [false, true]) {
    const request = proto.ListTasksRequest.fromPartial({ workspace: "default", archived, limit: 200 });
    tasks.push(...(await board.tasks.listTasks(request, board.admin)).tasks);
  }
  return new Map(tasks.map((task) => [task.id, JSON.parse(JSON.stringify(task)) as Task]));
}

const shown = (tasks: Map<string, Task>): unknown[] =>
  [...tasks.values()]
    .map(({ id, title, category, rank, revision, run_state, run_id, archived_at }) => ({
      id,
      title,
      category,
      rank,
      revision,
      run_state,
      run_id,
      archived_at,
    }))
    .toSorted((a, b) => a.id.localeCompare(b.id));

describe.each(["sse", "ws", "grpc"] as const)("over %s", (transport) => {
  const pieces = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 });

  test("a follower of the feed that is cut off anywhere ends with the server's board, no gap, nothing twice", async () => {
    const workspace = board.fleet.defaultWorkspaceId;
    const { sql } = board.fleet.tenant.store;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), pieces, async (steps, cuts) => {
        const client: TakeEvents = streamClients(gateway)[transport];
        const before = proto.ListTasksRequest.fromPartial({ workspace: "default", limit: 200 });
        const start = await board.tasks.listTasks(before, board.admin);
        const known = new Map(start.tasks.map((task) => [task.id, task]));
        for (const [id, task] of await serverBoard()) known.set(id, task);
        // A history may change nothing: then there is this to wait for.
        await board.create({ title: "always one" });
        let isOver = false;
        const history = play(steps).finally(() => (isOver = true));
        const target = async (): Promise<number> => {
          if (isOver) return feedSeq(sql, workspace);
          return Math.max(start.feed_seq + 1, await feedSeq(sql, workspace));
        };
        const seen = await readInPieces(
          (after, n) => client({ feed: "default" }, after, n),
          cuts,
          target,
          start.feed_seq,
        );
        await history;
        await board.number();
        const rest = await readInPieces(
          (after, n) => client({ feed: "default" }, after, n),
          cuts,
          () => feedSeq(sql, workspace),
          seen.at(-1)?.seq ?? start.feed_seq,
        );
        const all = [...seen, ...rest];
        expect(all.map(({ seq }) => seq)).toEqual(seqsFrom(start.feed_seq, all));
        expect(shown(applied(all, known))).toEqual(shown(await serverBoard()));
      }),
      { numRuns: 6 },
    );
  });

  test("a follower of a run that is cut off anywhere has its whole log, no gap, nothing twice", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 20 }), { minLength: 1, maxLength: 40 }),
        pieces,
        async (texts, cuts) => {
          const client = streamClients(gateway)[transport];
          const run = await board.fleet.run();
          const { sql } = board.fleet.tenant.store;
          const target = async (): Promise<number> => {
            const [row] = await sql<{ n: number }[]>`SELECT last_seq AS n FROM runs WHERE id = ${run}`;
            return row?.n ?? 0;
          };
          const history = (async () => {
            for (const text of texts) await board.say(run, text);
            await board.end(run, "succeeded");
          })();
          const seen = await readInPieces((after, n) => client({ run }, after, n), cuts, target);
          await history;
          const rest = await readInPieces((after, n) => client({ run }, after, n), cuts, target, seen.at(-1)?.seq ?? 0);
          const all = [...seen, ...rest];
          expect(all.map(({ seq }) => seq)).toEqual(Array.from({ length: await target() }, (_, i) => i + 1));
          const said = all
            .filter(({ kind }) => kind === "message")
            .map(({ data }) => (data?.["props"] as { content: string } | undefined)?.content);
          expect(said).toEqual(texts);
        },
      ),
      { numRuns: 8 },
    );
  });
});
