/** Dragging cards with a mouse or, after a long press, with a finger. */

import {
  DndContext,
  type DragEndEvent,
  DragOverlay,
  type DragStartEvent,
  MouseSensor,
  pointerWithin,
  TouchSensor,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import type { Task } from "@mesh/proto";
import { type ReactNode, useEffect, useRef } from "react";

import style from "./board.module.css";
import { useLift } from "./lift.ts";

const LONG_PRESS_MS = 250;
const TOLERANCE_PX = 8;
const DISTANCE_PX = 6;

/** Where a pointer is over: a column, and a place among its other cards. */
export interface Place {
  readonly column: string;
  readonly index: number;
}

/** Lets cards inside be dragged. */
export function DragArea(props: {
  readonly onDrop: (task: Task, place: Place) => void;
  readonly children: ReactNode;
}): ReactNode {
  const sensors = useSensors(
    useSensor(MouseSensor, { activationConstraint: { distance: DISTANCE_PX } }),
    useSensor(TouchSensor, { activationConstraint: { delay: LONG_PRESS_MS, tolerance: TOLERANCE_PX } }),
  );
  const lift = useLift((state) => state.lift);
  const dragged = lift?.by === "pointer" ? lift.task : undefined;
  usePointer(dragged);
  const start = ({ active }: DragStartEvent): void => {
    const task = active.data.current?.["task"] as Task | undefined;
    if (task !== undefined) useLift.setState({ lift: { task, column: task.column_id, index: 0, by: "pointer" } });
  };
  const end = (_event: DragEndEvent): void => {
    const { lift: held } = useLift.getState();
    useLift.setState({ lift: undefined });
    if (held?.by === "pointer") props.onDrop(held.task, held);
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={pointerWithin}
      // The board has announcements and keys of its own.
      accessibility={{ announcements: SILENT, screenReaderInstructions: { draggable: "" } }}
      onDragStart={start}
      onDragEnd={end}
      onDragCancel={() => useLift.setState({ lift: undefined })}
    >
      {props.children}
      <DragOverlay dropAnimation={null}>
        {dragged !== undefined && (
          <div className={style.overlay}>
            <span className={style.key}>{dragged.key}</span> {dragged.title}
          </div>
        )}
      </DragOverlay>
    </DndContext>
  );
}

const SILENT = {
  onDragStart: () => undefined,
  onDragOver: () => undefined,
  onDragEnd: () => undefined,
  onDragCancel: () => undefined,
};

/** Follows the pointer while a card is dragged; the place is read from what is on the screen. */
function usePointer(dragged: Task | undefined): void {
  const last = useRef("");
  useEffect(() => {
    if (dragged === undefined) return undefined;
    const at = (x: number, y: number): void => {
      const place = placeAt(x, y, dragged.id);
      const name = place === undefined ? "" : `${place.column} ${place.index}`;
      if (place === undefined || name === last.current) return;
      last.current = name;
      useLift.setState({ lift: { task: dragged, ...place, by: "pointer" } });
    };
    const onMouse = (event: MouseEvent): void => at(event.clientX, event.clientY);
    const onTouch = (event: TouchEvent): void => {
      const touch = event.touches[0];
      if (touch !== undefined) at(touch.clientX, touch.clientY);
    };
    document.addEventListener("mousemove", onMouse);
    document.addEventListener("touchmove", onTouch, { passive: true });
    return () => {
      last.current = "";
      document.removeEventListener("mousemove", onMouse);
      document.removeEventListener("touchmove", onTouch);
    };
  }, [dragged]);
}

/** The place under a point of the screen; undefined beside all columns. */
export function placeAt(x: number, y: number, draggedId: string): Place | undefined {
  const columns = [...document.querySelectorAll<HTMLElement>("[data-column]")];
  const column = columns.find((element) => {
    const box = element.getBoundingClientRect();
    return x >= box.left && x <= box.right;
  });
  const id = column?.dataset["column"];
  if (column === undefined || id === undefined) return undefined;
  const cards = [...column.querySelectorAll<HTMLElement>("[data-card]")].map((element) => {
    const box = element.getBoundingClientRect();
    return { id: element.dataset["card"], index: Number(element.dataset["index"]), middle: box.top + box.height / 2 };
  });
  const own = cards.find((card) => card.id === draggedId)?.index ?? Number.POSITIVE_INFINITY;
  // The order of elements is not that of the screen when one of them is kept for its focus.
  const others = cards.filter((card) => card.id !== draggedId).sort((a, b) => a.index - b.index);
  const below = others.find((card) => card.middle > y);
  const index = below?.index ?? (others.at(-1)?.index ?? -1) + 1;
  return { column: id, index: index > own ? index - 1 : index };
}
