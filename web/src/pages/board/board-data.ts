/** The board's data: columns in pages, patched by the feed, and moves that are shown before the server has agreed. */

import type { Board, Column, FeedEvent, ListTasksResponse, Task } from "@mesh/proto";
import { type QueryClient, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { getBoard, listBoards } from "../../api/boards.ts";
import { ApiError } from "../../api/error.ts";
import { listTasks, moveTask } from "../../api/tasks.ts";
import { useFeed } from "../../feed/use-feed.tsx";
import { toast } from "../../ui/toast.tsx";
import { anchorsOf, cardsOf, type ColumnData, withCard, withCardAt, withoutCard } from "./column-cards.ts";
import { type Filter, fits } from "./filter.ts";
import { useText } from "./text.ts";

const PAGE = 200;

/** The boards of a workspace. */
export function useBoards(workspace: string) {
  return useQuery({ queryKey: ["boards", workspace], queryFn: () => listBoards({ workspace }) });
}

/** One board with its columns. */
export function useBoard(board: string | undefined) {
  return useQuery({
    queryKey: ["board", board],
    queryFn: () => getBoard({ board: board ?? "" }),
    enabled: board !== undefined,
  });
}

/** The cards of a column, page by page. */
export function useColumn(workspace: string, board: string, column: string, filter: Filter) {
  const client = useQueryClient();
  return useInfiniteQuery({
    queryKey: ["column", board, column, filter],
    queryFn: async ({ pageParam, signal }) => {
      const request = { workspace, board, column, ...filter, limit: PAGE, cursor: pageParam };
      const page = await listTasks(request, { signal });
      return replayed(client, page, column, filter);
    },
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
}

const MAX_RECENT = 1_000;
/** What the feed said lately, per tab: a page that was read before it and arrives after it must not undo it. */
const recent: FeedEvent[] = [];

function replayed(client: QueryClient, page: ListTasksResponse, column: string, filter: Filter): ListTasksResponse {
  let data: ColumnData = { pages: [page], pageParams: [""] };
  for (const event of recent) {
    if (event.seq > page.feed_seq) data = applied(data, event, column, filter);
  }
  // Cards that are being moved are where the person put them.
  for (const [id, move] of movesOf(client)) if (move.column !== column) data = withoutCard(data, id);
  return data.pages[0] ?? page;
}

function taskOf(event: FeedEvent): Task | undefined {
  const { data } = event;
  const isTask = typeof data?.["id"] === "string" && typeof data["rank"] === "string";
  return isTask ? (data as unknown as Task) : undefined;
}

function applied(data: ColumnData, event: FeedEvent, column: string, filter: Filter): ColumnData {
  const task = taskOf(event);
  if (event.kind === "task.deleted" || task === undefined) return withoutCard(data, event.object);
  if (task.column_id !== column) return withoutCard(data, task.id);
  const isShown = fits(filter, task) ?? cardsOf(data).some((card) => card.id === task.id);
  return isShown ? withCard(data, task) : withoutCard(data, task.id);
}

interface Move {
  readonly column: string;
  /** Of the card before the move. */
  readonly revision: number;
}

const moving = new WeakMap<QueryClient, Map<string, Move>>();

function movesOf(client: QueryClient): Map<string, Move> {
  const known = moving.get(client);
  if (known !== undefined) return known;
  const made = new Map<string, Move>();
  moving.set(client, made);
  return made;
}

/** Applies an event to every loaded column. */
export function applyToColumns(client: QueryClient, event: FeedEvent): void {
  recent.push(event);
  if (recent.length > MAX_RECENT) recent.splice(0, recent.length - MAX_RECENT);
  const move = movesOf(client).get(event.object);
  const task = taskOf(event);
  // What happened before the move says nothing about where the card is.
  if (move !== undefined && task !== undefined && task.revision <= move.revision) return;
  for (const [key, data] of client.getQueriesData<ColumnData>({ queryKey: ["column"] })) {
    const [, board, column, filter] = key;
    if (data === undefined || typeof column !== "string") continue;
    const isElsewhere = task !== undefined && task.board_id !== board;
    const next = isElsewhere ? withoutCard(data, event.object) : applied(data, event, column, filter as Filter);
    if (next !== data) client.setQueryData(key, next);
  }
}

/** Keeps the columns up to date as long as the component is shown. */
export function useColumnFeed(): void {
  const handler = useCallback((event: FeedEvent, client: QueryClient) => {
    applyToColumns(client, event);
    return true;
  }, []);
  useFeed("task", handler);
}

/** Where a card is put: `index` among the other cards of the column. */
export interface Target {
  readonly column: Column;
  readonly index: number;
}

/** Moves cards: at once on the screen, then on the server; what it refuses goes back, with the reason. */
export function useMove(board: Board, filter: Filter): (task: Task, target: Target) => Promise<boolean> {
  const client = useQueryClient();
  return useCallback(
    async (task, { column, index }) => {
      const keyOf = (id: string): unknown[] => ["column", board.id, id, filter];
      const change = (id: string, work: (data: ColumnData) => ColumnData): void => {
        client.setQueryData<ColumnData>(keyOf(id), (data) => (data === undefined ? data : work(data)));
      };
      const from = client.getQueryData<ColumnData>(keyOf(task.column_id));
      const fromIndex = cardsOf(from).findIndex((card) => card.id === task.id);
      const anchors = anchorsOf(cardsOf(client.getQueryData<ColumnData>(keyOf(column.id))), task.id, index);
      movesOf(client).set(task.id, { column: column.id, revision: task.revision });
      if (column.id !== task.column_id) change(task.column_id, (data) => withoutCard(data, task.id));
      const moved = { ...task, column_id: column.id, category: column.category };
      change(column.id, (data) => withCardAt(data, moved, index));
      try {
        const answer = await moveTask({ task: task.id, column: column.id, revision: task.revision, ...anchors });
        movesOf(client).delete(task.id);
        const { task: result } = answer;
        if (result !== undefined) {
          change(column.id, (data) => withoutCard(data, task.id));
          change(result.column_id, (data) => withCard(data, result));
        }
        return true;
      } catch (thrown) {
        movesOf(client).delete(task.id);
        change(column.id, (data) => withoutCard(data, task.id));
        if (fromIndex !== -1) change(task.column_id, (data) => withCardAt(data, task, fromIndex));
        const error = ApiError.from(thrown);
        toast(useText.say("moveFailed", { task: task.key, reason: error.message }), { isError: true });
        // Somebody else was faster, or the answer was lost: the server knows.
        void client.invalidateQueries({ queryKey: ["column", board.id] });
        return false;
      }
    },
    [client, board.id, filter],
  );
}
