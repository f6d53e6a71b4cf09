/** One column: its heading and its cards, of which only those in sight exist when there are many. */

import { useDroppable } from "@dnd-kit/core";
import type { Column, Task } from "@mesh/proto";
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import { classes } from "../../ui/class.ts";
import { Button } from "../../ui/button.tsx";
import type { MenuItem } from "../../ui/menu.tsx";
import { Failure, Skeleton } from "../../ui/state.tsx";
import { useColumn } from "./board-data.ts";
import style from "./board.module.css";
import { Card } from "./card.tsx";
import { cardsOf, totalOf } from "./column-cards.ts";
import { type Filter, isFiltering } from "./filter.ts";
import { useLift } from "./lift.ts";
import { useText } from "./text.ts";

/** Below this many cards all of them exist: nothing jumps while scrolling. */
const PLAIN = 30;
const CARD_PX = 112;

/** What a column is given. */
export interface ColumnProps {
  readonly workspace: string;
  readonly board: string;
  readonly column: Column;
  readonly filter: Filter;
  readonly onKey: (event: KeyboardEvent, task: Task) => void;
  readonly menuOf: (task: Task) => readonly MenuItem[];
  /** Tells the board what is loaded, for moves across columns. */
  readonly onCards: (column: string, cards: readonly Task[]) => void;
}

/** A column of the board. */
export function BoardColumn(props: ColumnProps): ReactNode {
  const { workspace, board, column, filter, onCards } = props;
  const say = useText();
  const query = useColumn(workspace, board, column.id, filter);
  const cards = useMemo(() => cardsOf(query.data), [query.data]);
  const total = totalOf(query.data);
  const { setNodeRef, isOver } = useDroppable({ id: column.id });
  useEffect(() => onCards(column.id, cards), [onCards, column.id, cards]);
  const more = (): void => {
    if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  return (
    <section
      ref={setNodeRef}
      data-column={column.id}
      className={classes(style.column, isOver && style.over)}
      aria-label={column.name}
    >
      <header className={style.columnHead}>
        <h2>{column.name}</h2>
        <CardCount column={column} total={total} />
      </header>
      {query.data === undefined && query.error !== null && (
        <Failure error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.data === undefined && query.error === null && <Skeleton />}
      {query.data !== undefined && cards.length === 0 && (
        <p className={style.emptyColumn}>{isFiltering(filter) ? say("emptyFiltered") : say("empty")}</p>
      )}
      <Cards {...props} cards={cards} total={total} onEnd={more} />
      {query.hasNextPage && cards.length < PLAIN && (
        <Button kind="quiet" onClick={more}>
          {say("loadMore")}
        </Button>
      )}
    </section>
  );
}

function CardCount({ column, total }: { readonly column: Column; readonly total: number }): ReactNode {
  const say = useText();
  const isOver = column.wip_limit > 0 && total > column.wip_limit;
  return (
    <span className={classes(style.count, isOver && style.tooMany)}>
      {isOver ? say("overLimit", { count: total, limit: column.wip_limit }) : say("cards", { count: total })}
    </span>
  );
}

type CardsProps = ColumnProps & {
  readonly cards: readonly Task[];
  readonly total: number;
  readonly onEnd: () => void;
};

function Cards({ column, cards, total, onEnd, onKey, menuOf }: CardsProps): ReactNode {
  const [stop, setStop] = useState("");
  const body = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const liftedId = useLift(({ lift }) => lift?.task.id);
  const dropIndex = useLift(({ lift }) => (lift?.column === column.id ? lift.index : undefined));
  const stopIndex = Math.max(
    0,
    cards.findIndex(({ id }) => id === stop),
  );
  const liftedIndex = liftedId === undefined ? -1 : cards.findIndex(({ id }) => id === liftedId);
  const shownDrop = dropIndex === undefined ? -1 : realIndex(dropIndex, liftedIndex);
  const isVirtual = cards.length >= PLAIN;
  useEffect(() => {
    if (isVirtual && shownDrop >= 0)
      list.current?.scrollToIndex(Math.min(shownDrop, cards.length - 1), { align: "nearest" });
  }, [isVirtual, shownDrop, cards.length]);
  const card = (task: Task, index: number): ReactNode => (
    <Card
      key={task.id}
      task={task}
      index={index}
      count={total}
      isStop={index === stopIndex}
      isLifted={task.id === liftedId}
      drop={
        shownDrop === index ? "before" : shownDrop === cards.length && index === cards.length - 1 ? "after" : undefined
      }
      onFocus={setStop}
      onKey={onKey}
      menuOf={menuOf}
    />
  );
  const onScroll = (): void => {
    const element = body.current;
    if (element !== null && element.scrollTop + element.clientHeight * 3 > element.scrollHeight) onEnd();
  };
  if (cards.length === 0) return <div className={classes(style.cards, shownDrop === 0 && style.dropBefore)} />;
  return (
    <div
      ref={body}
      className={style.cards}
      data-cards={column.id}
      role="list"
      aria-label={column.name}
      onScroll={onScroll}
    >
      {isVirtual ? (
        <Virtualizer ref={list} data={cards} itemSize={CARD_PX} keepMounted={[stopIndex]} scrollRef={body}>
          {(task, index) => <div className={style.slot}>{card(task, index)}</div>}
        </Virtualizer>
      ) : (
        cards.map((task, index) => (
          <div key={task.id} className={style.slot}>
            {card(task, index)}
          </div>
        ))
      )}
    </div>
  );
}

/** The place among all cards that a place among the other cards is. */
function realIndex(index: number, lifted: number): number {
  return lifted !== -1 && index > lifted ? index + 1 : index;
}
