/**
 * Board and task: on a wide window the task opens beside the board, on a narrow one it takes the page. The layout is the
 * style sheet's: crossing the border between the two loads and loses nothing.
 */

import { type ReactNode, useEffect, useState } from "react";
import { useParams } from "wouter";

import { classes } from "../../ui/class.ts";
import style from "./work.module.css";
import { later } from "../../ui/later.tsx";

const BoardPage = later(() => import("../board/board-page.tsx"), { lines: 8 });
const TaskPage = later(() => import("../task/task-page.tsx"), { lines: 8 });

const WIDE = "(min-width: 1024px)";

/** The page of `/board/:board?` and `/task/:task`. */
export default function WorkPage(): ReactNode {
  const { page, id } = useParams<{ page: string; id?: string }>();
  const task = page === "task" ? id : undefined;
  const [boardId, setBoardId] = useState(page === "task" ? undefined : id);
  useEffect(() => {
    if (page !== "task") setBoardId(id);
  }, [page, id]);
  const isBoardWanted = useOnce(task === undefined, WIDE);
  return (
    <div className={classes(style.work, task !== undefined && style.split)}>
      {isBoardWanted && (
        <div className={style.board}>
          <BoardPage boardId={boardId} level={task === undefined ? 1 : 2} />
        </div>
      )}
      {task !== undefined && (
        <div className={style.task}>
          <TaskPage key={task} id={task} />
        </div>
      )}
    </div>
  );
}

/** True from the first time that either holds: a phone that opens a task needs no board, but keeps one that it had. */
function useOnce(now: boolean, query: string): boolean {
  const [was, setWas] = useState(now || matchMedia(query).matches);
  useEffect(() => {
    if (was) return undefined;
    if (now) setWas(true);
    const media = matchMedia(query);
    const onChange = (): void => setWas((before) => before || media.matches);
    media.addEventListener("change", onChange);
    return () => media.removeEventListener("change", onChange);
  }, [was, now, query]);
  return was || now;
}
