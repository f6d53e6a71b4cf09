/**
 * Moving a card with the keys: Space lifts it, arrows choose the place, Space drops it, Escape puts it back.
 *
 * The card itself stays where it is until it is dropped; a line shows the place, and every step is announced.
 */

import type { Column, Task } from "@mesh/proto";
import { create } from "zustand";

/** A lifted card and the place it is over: `index` among the other cards of the column. */
export interface Lift {
  readonly task: Task;
  readonly column: string;
  readonly index: number;
  /** How it is held. */
  readonly by: "keys" | "pointer";
}

/** What is lifted, by keys or by pointer. */
export const useLift = create<{ readonly lift: Lift | undefined }>()(() => ({ lift: undefined }));

/** What of the columns a step needs. */
export interface ColumnView {
  readonly column: Column;
  /** The loaded cards, the lifted one among them or not. */
  readonly cards: readonly Task[];
}

/** Places in a column for a lifted card: one more than the other cards. */
export function placesIn(view: ColumnView | undefined, id: string): number {
  return (view?.cards.filter((card) => card.id !== id).length ?? 0) + 1;
}

/** The lift after an arrow key; undefined when the key means nothing. */
export function stepped(lift: Lift, key: string, views: readonly ColumnView[]): Lift | undefined {
  const at = views.findIndex(({ column }) => column.id === lift.column);
  const places = placesIn(views[at], lift.task.id);
  const clamp = (index: number, count: number): number => Math.max(0, Math.min(index, count - 1));
  switch (key) {
    case "ArrowDown":
      return { ...lift, index: clamp(lift.index + 1, places) };
    case "ArrowUp":
      return { ...lift, index: clamp(lift.index - 1, places) };
    case "Home":
      return { ...lift, index: 0 };
    case "End":
      return { ...lift, index: places - 1 };
    case "ArrowLeft":
    case "ArrowRight": {
      const next = views[clamp(at + (key === "ArrowRight" ? 1 : -1), views.length)];
      if (next === undefined) return undefined;
      return { ...lift, column: next.column.id, index: clamp(lift.index, placesIn(next, lift.task.id)) };
    }
    default:
      return undefined;
  }
}
