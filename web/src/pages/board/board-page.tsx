/** The task board. */

import type { Board, Task } from "@mesh/proto";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";

import { useShortcut } from "../../app/shortcuts.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import type { MenuItem } from "../../ui/menu.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Hidden, Loaded } from "../../ui/state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import { useBoard, useBoards, useColumnFeed, useMove } from "./board-data.ts";
import style from "./board.module.css";
import { BulkBar, useBulk } from "./bulk-bar.tsx";
import { focusCard, onCardKey } from "./card-keys.ts";
import { BoardColumn } from "./column.tsx";
import { Composer } from "./composer.tsx";
import { DragArea } from "./drag.tsx";
import { FILTER_KEYS, type Filter, readFilter } from "./filter.ts";
import { FilterBar } from "./filter-bar.tsx";
import { keepBoard } from "./last-board.ts";
import { useSelection } from "./selection.ts";
import { useText } from "./text.ts";

/** The page; `boardId` undefined means the workspace's first. `level` 2 when a task is open beside it. */
export default function BoardPage(props: { readonly boardId: string | undefined; readonly level: 1 | 2 }): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const boards = useBoards(workspace);
  const id = props.boardId ?? boards.data?.boards[0]?.id;
  const board = useBoard(id);
  const [composing, setComposing] = useState(false);
  useColumnFeed();
  useShortcut("c", say("newTask"), () => setComposing(true));
  const name = board.data?.board?.name ?? say("title");
  return (
    <Page
      title={name}
      level={props.level}
      fill
      actions={
        <>
          <BoardChoice boards={boards.data?.boards ?? []} current={id} />
          <Button kind="primary" icon="plus" disabled={id === undefined} onClick={() => setComposing(true)}>
            {say("newTask")}
          </Button>
        </>
      }
    >
      {boards.data?.boards.length === 0 ? (
        <Empty icon="board" title={say("noBoard")} />
      ) : (
        <Loaded query={board} lines={8}>
          {(answer) =>
            answer.board === undefined ? (
              <Empty icon="board" title={say("noBoard")} />
            ) : (
              <BoardView board={answer.board} />
            )
          }
        </Loaded>
      )}
      {composing && id !== undefined && <Composer board={id} onClose={() => setComposing(false)} />}
    </Page>
  );
}

function BoardChoice(props: { readonly boards: readonly Board[]; readonly current: string | undefined }): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  if (props.boards.length < 2) return null;
  return (
    <SelectField
      label={say("boards")}
      hideLabel
      value={props.current ?? ""}
      options={props.boards.map(({ id, name }) => [id, name] as const)}
      onChange={(event) => go(`/board/${event.target.value}`)}
    />
  );
}

/** The filter in the address, and how to change it. */
function useFilter(): [Filter, (change: Partial<Filter>) => void, () => void] {
  const [search, setSearch] = useSearchParams();
  const text = search.toString();
  const filter = useMemo(() => readFilter(new URLSearchParams(text)), [text]);
  const change = useCallback(
    (part: Partial<Filter>) => {
      setSearch(
        (before) => {
          for (const [key, value] of Object.entries(part)) {
            if (value === "") before.delete(key);
            else before.set(key, value);
          }
          return before;
        },
        { replace: true },
      );
    },
    [setSearch],
  );
  const clear = useCallback(() => change(Object.fromEntries(FILTER_KEYS.map((key) => [key, ""]))), [change]);
  return [filter, change, clear];
}

function BoardView({ board }: { readonly board: Board }): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [filter, change, clear] = useFilter();
  const loaded = useRef(new Map<string, readonly Task[]>());
  const move = useMove(board, filter);
  const cardsOf = useCallback((column: string) => loaded.current.get(column) ?? [], []);
  const onCards = useCallback(
    (column: string, cards: readonly Task[]) => {
      loaded.current.set(column, cards);
      keepBoard(board, loaded.current);
    },
    [board],
  );
  const onKey = useCallback(
    (event: KeyboardEvent, task: Task) => onCardKey({ board, cardsOf, move }, event, task),
    [board, cardsOf, move],
  );
  const menuOf = useCardMenu(board, cardsOf, move);
  const onDrop = (task: Task, place: { column: string; index: number }): void => {
    const column = board.columns.find(({ id }) => id === place.column);
    if (column !== undefined) void move(task, { column, index: place.index });
  };
  useBoardKeys(board, cardsOf);
  useEffect(() => useSelection.getState().clear, [board.id]);
  return (
    <>
      <FilterBar filter={filter} onChange={change} onClear={clear} />
      <span id="board-help">
        <Hidden>{say("help")}</Hidden>
      </span>
      <DragArea onDrop={onDrop}>
        <div className={style.board}>
          {board.columns.map((column) => (
            <BoardColumn
              key={column.id}
              workspace={workspace}
              board={board.id}
              column={column}
              filter={filter}
              onKey={onKey}
              menuOf={menuOf}
              onCards={onCards}
            />
          ))}
        </div>
      </DragArea>
      <BulkBar board={board} />
    </>
  );
}

/** The menu of each card: the same moves as by dragging, and archiving. */
function useCardMenu(
  board: Board,
  cardsOf: (column: string) => readonly Task[],
  move: ReturnType<typeof useMove>,
): (task: Task) => readonly MenuItem[] {
  const say = useTaskText();
  const { mutate } = useBulk(board.id);
  return useCallback(
    (task) => {
      const own = board.columns.find(({ id }) => id === task.column_id);
      const end = own === undefined ? 0 : cardsOf(own.id).length - 1;
      const within = (index: number): void => {
        if (own !== undefined) void move(task, { column: own, index });
      };
      return [
        ...board.columns
          .filter(({ id }) => id !== task.column_id)
          .map((column) => ({
            label: say("moveTo", { column: column.name }),
            icon: "move" as const,
            run: () => void move(task, { column, index: 0 }),
          })),
        { label: say("moveTop"), run: () => within(0) },
        { label: say("moveBottom"), run: () => within(end) },
        { label: say("start"), icon: "play", run: () => mutate({ tasks: [task.id], action: "start" }) },
        { label: say("archive"), icon: "archive", run: () => mutate({ tasks: [task.id], action: "archive" }) },
      ];
    },
    [board, cardsOf, move, mutate, say],
  );
}

function useBoardKeys(board: Board, cardsOf: (column: string) => readonly Task[]): void {
  const say = useText();
  useShortcut("/", say("search"), () => document.querySelector<HTMLElement>("[data-search]")?.focus());
  useShortcut("x", say("toggleSelect"), () => {
    const id = document.activeElement?.closest<HTMLElement>("[data-card]")?.dataset["card"];
    if (id !== undefined) useSelection.getState().toggle(id);
  });
  useShortcut("Escape", say("clearAll"), () => useSelection.getState().clear());
  useShortcut("j", say("next"), () => {
    const first = board.columns.flatMap(({ id }) => cardsOf(id).slice(0, 1))[0];
    if (first !== undefined) focusCard(first.id);
  });
}
