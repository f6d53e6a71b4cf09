/** One card of the board. */

import { useDraggable } from "@dnd-kit/core";
import type { Task } from "@mesh/proto";
import { type KeyboardEvent, memo, type ReactNode } from "react";
import { Link, useSearch } from "wouter";

import { classes } from "../../ui/class.ts";
import { Icon } from "../../ui/icon.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { Badge } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { isActive, priorityOf, RunStateBadge } from "../work/run-state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import style from "./board.module.css";
import { useSelection } from "./selection.ts";
import { useText } from "./text.ts";

/** What a card is given; everything stays the same while the task does, so that it is drawn once. */
export interface CardProps {
  readonly task: Task;
  readonly index: number;
  readonly count: number;
  /** Whether the Tab key stops at it. */
  readonly isStop: boolean;
  readonly isLifted: boolean;
  /** Where the line for a lifted card is. */
  readonly drop: "before" | "after" | undefined;
  readonly onFocus: (id: string) => void;
  readonly onKey: (event: KeyboardEvent, task: Task) => void;
  readonly menuOf: (task: Task) => readonly MenuItem[];
}

/** A card: opens its task, can be dragged, lifted by keys, selected, and moved by a menu. */
export const Card = memo(function Card(props: CardProps): ReactNode {
  const { task, index, count, isStop, isLifted, drop, onFocus, onKey, menuOf } = props;
  const say = useText();
  const sayTask = useTaskText();
  const isSelected = useSelection((state) => state.ids.has(task.id));
  const toggle = useSelection((state) => state.toggle);
  // The filter goes along: the board beside the task stays as it is.
  const search = useSearch();
  const { setNodeRef, listeners } = useDraggable({ id: task.id, data: { task } });
  const tabIndex = isStop ? 0 : -1;
  return (
    <div
      ref={setNodeRef}
      role="listitem"
      aria-setsize={count}
      aria-posinset={index + 1}
      data-card={task.id}
      data-index={index}
      className={classes(
        style.card,
        isSelected && style.selected,
        isLifted && style.lifted,
        drop === "before" && style.dropBefore,
        drop === "after" && style.dropAfter,
      )}
      {...listeners}
    >
      <div className={style.cardHead}>
        <label className={style.check}>
          <input
            type="checkbox"
            tabIndex={tabIndex}
            checked={isSelected}
            aria-label={say("select", { task: task.key })}
            onChange={() => toggle(task.id)}
          />
        </label>
        <span className={style.key}>{task.key}</span>
        <PriorityMark priority={task.priority} />
        <Menu label={sayTask("moveMenu", { task: task.key })} items={menuItems(menuOf, task)} tabIndex={tabIndex} />
      </div>
      <Link
        id={`card-${task.id}`}
        href={`/task/${task.key}${search === "" ? "" : `?${search}`}`}
        className={style.cardTitle}
        draggable={false}
        tabIndex={tabIndex}
        aria-describedby="board-help"
        onFocus={() => onFocus(task.id)}
        onKeyDown={(event) => onKey(event, task)}
      >
        {task.title}
      </Link>
      <CardWork task={task} />
    </div>
  );
});

// The items are made when the menu opens: thousands of cards need none of them.
function menuItems(menuOf: (task: Task) => readonly MenuItem[], task: Task): () => readonly MenuItem[] {
  return () => menuOf(task);
}

function PriorityMark({ priority }: { readonly priority: string }): ReactNode {
  const say = useTaskText();
  const known = priorityOf(priority);
  if (known === "none") return <span className={style.grow} />;
  return <span className={classes(style.grow, style[known])}>{say(known)}</span>;
}

function CardWork({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const { last_line, summary, run_state, node, labels, blocked_by } = task;
  const line = isActive(run_state) && last_line !== "" ? last_line : summary;
  const blockers = blocked_by.filter(({ category }) => category !== "done").map(({ key }) => key);
  return (
    <>
      {line !== "" && <p className={style.line}>{line}</p>}
      <div className={style.chips}>
        {(run_state !== "idle" || blockers.length > 0) && <RunStateBadge state={run_state} />}
        {blockers.length > 0 && run_state !== "blocked" && (
          <Badge tone="warn" icon="lock">
            {say("blockedBy", { tasks: blockers.join(", ") })}
          </Badge>
        )}
        {(task.assistant !== "" || node !== undefined) && (
          <span className={style.who}>
            <Icon name="agent" size={14} />
            {[task.assistant, node].filter(Boolean).join(" · ")}
          </span>
        )}
        {labels.map((label) => (
          <Badge key={label}>{label}</Badge>
        ))}
        {task.due_at !== undefined && task.due_at !== "" && (
          <span className={style.who}>
            {say("due")} <Time at={task.due_at} />
          </span>
        )}
      </div>
    </>
  );
}
