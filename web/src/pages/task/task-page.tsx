/** One task: its conversation, runs, files, activity and fields. */

import type { Task } from "@mesh/proto";
import { type ReactNode } from "react";
import { useLocation, useSearchParams } from "wouter";

import { ApiError } from "../../api/error.ts";
import { IconButton, LinkButton } from "../../ui/button.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../../ui/state.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { RunStateBadge } from "../work/run-state.tsx";
import { ActivityTab } from "./activity-tab.tsx";
import { ConversationView } from "./conversation-view.tsx";
import { OutputsTab } from "./outputs-tab.tsx";
import { RunsTab } from "./runs-tab.tsx";
import { TaskActions } from "./task-actions.tsx";
import { useTask } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";
import { later } from "../../ui/later.tsx";

const DetailsTab = later(() => import("./details-tab.tsx"));
const TraceTab = later(() => import("./trace-tab.tsx"));

const TABS = ["conversation", "runs", "trace", "outputs", "activity", "details"] as const;
type TabId = (typeof TABS)[number];

/** The page, or the panel beside the board. */
export default function TaskPage({ id }: { readonly id: string }): ReactNode {
  const say = useText();
  const task = useTask(id);
  if (task.error !== null && ApiError.from(task.error).status === 404) {
    return (
      <>
        <h1 className={style.missing}>{say("notFound")}</h1>
        <Empty icon="question" title={say("notFound")} text={say("notFoundText")}>
          <LinkButton href="/board" kind="primary">
            {say("toBoard")}
          </LinkButton>
        </Empty>
      </>
    );
  }
  return (
    <Loaded query={task} lines={8}>
      {(answer) => (answer.task === undefined ? <Skeleton /> : <TaskView task={answer.task} />)}
    </Loaded>
  );
}

function useBack(): () => void {
  const [, go] = useLocation();
  const [search] = useSearchParams();
  search.delete("tab");
  const query = search.toString();
  return () => go(query === "" ? "/board" : `/board?${query}`);
}

function TaskView({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const back = useBack();
  const tab = TABS.find((name) => name === search.get("tab")) ?? "conversation";
  useTitle(`${task.key} ${task.title}`);
  const choose = (next: TabId): void => {
    setSearch(
      (before) => {
        if (next === "conversation") before.delete("tab");
        else before.set("tab", next);
        return before;
      },
      { replace: true },
    );
  };
  return (
    <article
      className={style.page}
      aria-label={`${task.key} ${task.title}`}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented && document.querySelector("dialog[open]") === null)
          back();
      }}
    >
      <header className={style.head}>
        <IconButton icon="back" label={say("close")} onClick={back} />
        <div className={style.headText}>
          <h1>
            <span className={style.key}>{task.key}</span> {task.title}
          </h1>
          <p className={style.stateLine}>
            <RunStateBadge state={task.run_state} />
            {task.run_reason !== "" && <span>{task.run_reason}</span>}
            {task.node !== undefined && task.node !== "" && <span>{task.node}</span>}
          </p>
          {task.summary !== "" && <p className={style.summary}>{task.summary}</p>}
        </div>
        <TaskActions task={task} />
      </header>
      <Tabs
        label={say("tabs")}
        tabs={TABS.map((name) => ({ id: name, label: say(name) }))}
        current={tab}
        onChange={choose}
      >
        <TabContent tab={tab} task={task} />
      </Tabs>
    </article>
  );
}

function TabContent({ tab, task }: { readonly tab: TabId; readonly task: Task }): ReactNode {
  switch (tab) {
    case "conversation":
      return <ConversationView key={task.id} task={task} />;
    case "runs":
      return <RunsTab task={task} />;
    case "trace":
      return <TraceTab task={task} />;
    case "outputs":
      return <OutputsTab task={task} />;
    case "activity":
      return <ActivityTab task={task} />;
    case "details":
      return <DetailsTab key={task.id} task={task} />;
  }
}
