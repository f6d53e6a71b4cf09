/**
 * The cards of one column as far as they are loaded, and what changes do to them. Pure.
 *
 * C1  Cards are in the order of their rank; a card is there once.
 * C2  A card below the last loaded one counts, and is loaded when one gets there.
 * C3  An older revision never takes the place of a newer one.
 */

import type { ListTasksResponse, Task } from "@mesh/proto";
import type { InfiniteData } from "@tanstack/react-query";

import { isNewer } from "../../feed/apply.ts";

/** As the data layer keeps it. */
export type ColumnData = InfiniteData<ListTasksResponse, unknown>;

/** The loaded cards. */
export function cardsOf(data: ColumnData | undefined): readonly Task[] {
  const pages = data?.pages ?? [];
  const [only] = pages;
  return pages.length === 1 && only !== undefined ? only.tasks : pages.flatMap((page) => page.tasks);
}

/** How many there are, loaded or not. */
export function totalOf(data: ColumnData | undefined): number {
  return data?.pages.at(-1)?.total ?? 0;
}

function rebuilt(data: ColumnData, tasks: readonly Task[], change: number): ColumnData {
  const last = data.pages.at(-1);
  if (last === undefined) return data;
  return { pages: [{ ...last, tasks, total: Math.max(tasks.length, last.total + change) }], pageParams: [""] };
}

/** Without this card. */
export function withoutCard(data: ColumnData, id: string): ColumnData {
  const cards = cardsOf(data);
  const at = cards.findIndex((card) => card.id === id);
  return at === -1 ? data : rebuilt(data, cards.toSpliced(at, 1), -1);
}

/** With this card, new or changed, where its rank puts it. */
export function withCard(data: ColumnData, task: Task): ColumnData {
  const cards = cardsOf(data);
  const at = cards.findIndex((card) => card.id === task.id);
  const known = cards[at];
  if (known !== undefined && !isNewer({ ...task }, { ...known })) return data;
  if (known !== undefined && known.rank === task.rank) return rebuilt(data, cards.with(at, { ...known, ...task }), 0);
  const others = known === undefined ? cards : cards.toSpliced(at, 1);
  const place = others.findIndex((card) => card.rank > task.rank);
  const isBelow = place === -1 && (data.pages.at(-1)?.next_cursor ?? "") !== "";
  const change = known === undefined ? 1 : 0;
  if (isBelow) return rebuilt(data, others, change);
  return rebuilt(data, others.toSpliced(place === -1 ? others.length : place, 0, task), change);
}

/** With this card between two others, before the server has said its rank. */
export function withCardAt(data: ColumnData, task: Task, index: number): ColumnData {
  const others = cardsOf(data).filter((card) => card.id !== task.id);
  const change = others.length === cardsOf(data).length ? 1 : 0;
  const rank = others[index - 1]?.rank ?? others[index]?.rank ?? task.rank;
  return rebuilt(data, others.toSpliced(index, 0, { ...task, rank }), change);
}

/** The neighbours of a place among the cards of a column, leaving out the card itself: what a move names. */
export function anchorsOf(cards: readonly Task[], id: string, index: number): { after?: string; before?: string } {
  const others = cards.filter((card) => card.id !== id);
  const after = others[Math.min(index, others.length) - 1];
  const before = others[index];
  if (after !== undefined) return { after: after.id };
  return before === undefined ? {} : { before: before.id };
}
