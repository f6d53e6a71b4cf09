/** What can be done to a task as a whole. */

import type { Task } from "@mesh/proto";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";

import { archiveTask, deleteTask, startTask, stopTask } from "../../api/tasks.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Menu, type MenuItem } from "../../ui/menu.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { isActive } from "../work/run-state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import { useTaskChange } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";
import { later } from "../../ui/later.tsx";

const PromoteDialog = later(() => import("./promote-dialog.tsx"), { lines: 0 });
const ShareDialog = later(() => import("./share-dialog.tsx"), { lines: 0 });

type Open = "promote" | "share" | "remove" | undefined;

/** Start or stop, and a menu with the rest. */
export function TaskActions({ task }: { readonly task: Task }): ReactNode {
  const sayTask = useTaskText();
  const [open, setOpen] = useState<Open>();
  const start = useTaskChange((fresh: boolean) => startTask({ task: task.id, fresh }));
  const stop = useTaskChange(() => stopTask({ task: task.id }));
  const close = (): void => setOpen(undefined);
  const hasFailed = ["failed", "lost", "cancelled"].includes(task.run_state);
  return (
    <div className={style.actions}>
      {isActive(task.run_state) ? (
        <Button icon="stop" busy={stop.isPending} onClick={() => stop.mutate(undefined)}>
          {sayTask("stop")}
        </Button>
      ) : (
        <Button icon={hasFailed ? "retry" : "play"} busy={start.isPending} onClick={() => start.mutate(false)}>
          {hasFailed ? sayTask("retry") : sayTask("start")}
        </Button>
      )}
      <ActionsMenu task={task} onOpen={setOpen} onFresh={() => start.mutate(true)} />
      {open === "promote" && <PromoteDialog task={task} onClose={close} />}
      {open === "share" && <ShareDialog task={task} onClose={close} />}
      {open === "remove" && <Remove task={task} onClose={close} />}
    </div>
  );
}

function ActionsMenu(props: {
  readonly task: Task;
  readonly onOpen: (open: Open) => void;
  readonly onFresh: () => void;
}): ReactNode {
  const { task, onOpen, onFresh } = props;
  const say = useText();
  const sayTask = useTaskText();
  const isArchived = task.archived_at !== undefined && task.archived_at !== "";
  const archive = useTaskChange((restore: boolean) => archiveTask({ task: task.id, restore }));
  const copy = async (): Promise<void> => {
    if (await copyText(`${location.origin}/task/${task.key}`)) toast(say("linkCopied"));
  };
  const items: MenuItem[] = [
    { label: say("fresh"), icon: "retry", disabled: isActive(task.run_state), run: onFresh },
    { label: say("promote"), icon: "promote", run: () => onOpen("promote") },
    { label: say("share"), icon: "share", run: () => onOpen("share") },
    { label: say("copyLink"), icon: "link", run: () => void copy() },
    {
      label: isArchived ? sayTask("restore") : sayTask("archive"),
      icon: "archive",
      run: () => archive.mutate(isArchived),
    },
    ...(isArchived
      ? [{ label: say("remove"), icon: "trash" as const, danger: true, run: () => onOpen("remove") }]
      : []),
  ];
  return <Menu label={say("moreActions", { task: task.key })} items={items} />;
}

function Remove({ task, onClose }: { readonly task: Task; readonly onClose: () => void }): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  const queries = useQueryClient();
  const remove = async (): Promise<void> => {
    try {
      await deleteTask({ task: task.id });
      onClose();
      go("/board");
      queries.removeQueries({ queryKey: ["task"] });
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <Confirm
      title={`${say("remove")}: ${task.key}`}
      text={say("removeText")}
      action={say("remove")}
      onYes={() => void remove()}
      onClose={onClose}
    />
  );
}
