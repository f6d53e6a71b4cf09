/** What can be done to all selected cards at once. */

import type { Board } from "@mesh/proto";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { updateTasks } from "../../api/tasks.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { PRIORITIES } from "../work/run-state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import style from "./board.module.css";
import { useSelection } from "./selection.ts";
import { useText } from "./text.ts";

interface Change {
  readonly tasks: readonly string[];
  readonly action: "move" | "priority" | "archive" | "restore" | "start" | "stop";
  readonly value?: string;
}

/** Changes many tasks; archiving can be taken back for ten seconds. */
export function useBulk(board: string) {
  const say = useText();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (request: Change) => updateTasks({ workspace, ...request }),
    onSuccess: ({ tasks }, { action, tasks: ids }) => {
      useSelection.getState().clear();
      void queries.invalidateQueries({ queryKey: ["column", board] });
      const undo = { label: say("undo"), run: () => change.mutate({ tasks: ids, action: "restore" }) };
      toast(say("changed", { count: tasks.length }), action === "archive" ? { action: undo } : {});
    },
    onError: toastError,
  });
  return change;
}

/** The bar, as long as anything is selected. */
export function BulkBar({ board }: { readonly board: Board }): ReactNode {
  const say = useText();
  const sayTask = useTaskText();
  const { ids, clear } = useSelection();
  const change = useBulk(board.id);
  if (ids.size === 0) return null;
  const run = (action: Change["action"], value?: string): void => {
    change.mutate({ tasks: [...ids], action, ...(value === undefined ? {} : { value }) });
  };
  return (
    <div className={style.bulk} role="region" aria-label={say("selected", { count: ids.size })}>
      <strong aria-live="polite">{say("selected", { count: ids.size })}</strong>
      <Menu
        label={say("bulkMove")}
        text={say("bulkMove")}
        icon="move"
        kind="plain"
        items={board.columns.map(({ id, name }) => ({ label: name, run: () => run("move", id) }))}
      />
      <Menu
        label={say("bulkPriority")}
        text={say("bulkPriority")}
        icon="warning"
        kind="plain"
        items={PRIORITIES.map((priority) => ({ label: sayTask(priority), run: () => run("priority", priority) }))}
      />
      <Button icon="play" busy={change.isPending} onClick={() => run("start")}>
        {say("bulkStart")}
      </Button>
      <Button icon="stop" busy={change.isPending} onClick={() => run("stop")}>
        {say("bulkStop")}
      </Button>
      <Button icon="archive" busy={change.isPending} onClick={() => run("archive")}>
        {sayTask("archive")}
      </Button>
      <Button kind="quiet" icon="close" onClick={clear}>
        {say("clearSelection")}
      </Button>
    </div>
  );
}
