/** What keys do on a card: move among cards, lift, place and drop. */

import type { Board, Task } from "@mesh/proto";
import type { KeyboardEvent } from "react";

import { announce } from "../../ui/toast.tsx";
import type { Target } from "./board-data.ts";
import { type ColumnView, type Lift, placesIn, stepped, useLift } from "./lift.ts";
import { useText } from "./text.ts";

/** What the keys need of the board. */
export interface CardKeysDeps {
  readonly board: Board;
  /** The loaded cards of a column. */
  readonly cardsOf: (column: string) => readonly Task[];
  readonly move: (task: Task, target: Target) => Promise<boolean>;
}

/** Handles a key on a card. */
export function onCardKey(deps: CardKeysDeps, event: KeyboardEvent, task: Task): void {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  const { lift } = useLift.getState();
  if (lift?.by === "keys") onLifted(deps, event, lift);
  else if (event.key === " ") {
    event.preventDefault();
    liftCard(deps, task);
  } else if (focusNext(deps, event.key, task)) event.preventDefault();
}

function viewsOf({ board, cardsOf }: CardKeysDeps): ColumnView[] {
  return board.columns.map((column) => ({ column, cards: cardsOf(column.id) }));
}

function liftCard({ cardsOf }: CardKeysDeps, task: Task): void {
  const index = Math.max(
    0,
    cardsOf(task.column_id).findIndex(({ id }) => id === task.id),
  );
  useLift.setState({ lift: { task, column: task.column_id, index, by: "keys" } });
  announce(useText.say("lifted", { task: task.key }));
}

function onLifted(deps: CardKeysDeps, event: KeyboardEvent, lift: Lift): void {
  if (event.key === "Tab") {
    // Leaving the card while it is lifted would leave it in the air.
    event.preventDefault();
    return;
  }
  const views = viewsOf(deps);
  const next = stepped(lift, event.key, views);
  if (next !== undefined) {
    event.preventDefault();
    useLift.setState({ lift: next });
    announce(useText.say("over", valuesOf(next, views)));
  } else if (event.key === " " || event.key === "Enter") {
    event.preventDefault();
    drop(deps, lift, views);
  } else if (event.key === "Escape") {
    event.preventDefault();
    useLift.setState({ lift: undefined });
    announce(useText.say("putBack", { task: lift.task.key }));
  }
}

function valuesOf(lift: Lift, views: readonly ColumnView[]): Record<string, string | number> {
  const view = views.find(({ column }) => column.id === lift.column);
  const count = placesIn(view, lift.task.id);
  return { task: lift.task.key, column: view?.column.name ?? "", position: lift.index + 1, count };
}

function drop(deps: CardKeysDeps, lift: Lift, views: readonly ColumnView[]): void {
  useLift.setState({ lift: undefined });
  const column = deps.board.columns.find(({ id }) => id === lift.column);
  if (column === undefined) return;
  announce(useText.say("dropped", valuesOf(lift, views)));
  void deps.move(lift.task, { column, index: lift.index });
  // In another column the card is another element: the focus goes with it.
  requestAnimationFrame(() => requestAnimationFrame(() => focusCard(lift.task.id)));
}

/** Puts the focus on a card, when it is drawn. */
export function focusCard(id: string): boolean {
  const element = document.getElementById(`card-${id}`);
  element?.focus();
  return element !== null;
}

function focusNext({ board, cardsOf }: CardKeysDeps, key: string, task: Task): boolean {
  const cards = cardsOf(task.column_id);
  const at = cards.findIndex(({ id }) => id === task.id);
  const vertical: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, j: at + 1, k: at - 1 };
  const target = vertical[key];
  if (target !== undefined) {
    const next = target < 0 ? undefined : cards[target];
    return next !== undefined && focusCard(next.id);
  }
  const sideways: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1, l: 1, h: -1 };
  const step = sideways[key];
  if (step === undefined) return false;
  let column = board.columns.findIndex(({ id }) => id === task.column_id) + step;
  for (; column >= 0 && column < board.columns.length; column += step) {
    const others = cardsOf(board.columns[column]?.id ?? "");
    const same = others[Math.min(at, others.length - 1)];
    // Far down in a long column the card beside may not be drawn: the first of the drawn ones is nearest.
    if (same !== undefined && (focusCard(same.id) || focusDrawn(board.columns[column]?.id ?? ""))) return true;
  }
  return false;
}

function focusDrawn(column: string): boolean {
  const list = document.querySelector(`[data-cards="${CSS.escape(column)}"]`);
  const card = list?.querySelector<HTMLElement>("[data-card] a");
  card?.focus();
  return card !== null && card !== undefined;
}
