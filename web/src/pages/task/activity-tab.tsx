/** What happened to a task, newest first. */

import type { Activity, Task } from "@mesh/proto";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { listActivity } from "../../api/tasks.ts";
import { useText as useUiText } from "../../ui/text.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { useActivityText } from "./activity-text.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

/** The tab. */
export function ActivityTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const sayUi = useUiText();
  const activity = useInfiniteQuery({
    queryKey: ["activity", task.id],
    queryFn: ({ pageParam }) => listActivity({ task: task.id, cursor: pageParam, limit: 50 }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
  return (
    <Loaded query={activity}>
      {({ pages }) => {
        const entries = pages.flatMap((page) => page.entries);
        if (entries.length === 0) return <Empty icon="clock" title={say("noActivity")} />;
        return (
          <>
            <ul className={style.list}>
              {entries.map((entry) => (
                <li key={entry.id} className={style.activity}>
                  <Line entry={entry} />
                </li>
              ))}
            </ul>
            {activity.hasNextPage && (
              <Button busy={activity.isFetchingNextPage} onClick={() => void activity.fetchNextPage()}>
                {sayUi("more")}
              </Button>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

const ACTIONS = [
  "created",
  "moved",
  "edited",
  "started",
  "start_failed",
  "ended",
  "asked",
  "answered",
  "scheduled",
  "archived",
  "restored",
  "promoted",
  "shared",
] as const;

function Line({ entry: { actor, action, detail, at } }: { readonly entry: Activity }): ReactNode {
  const say = useActivityText();
  const known = ACTIONS.find((name) => name === action);
  const facts = Object.entries(detail ?? {}).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "string" || typeof value === "number" ? [`${name}: ${value}`] : [],
  );
  return (
    <>
      <strong>{actor}</strong> {known === undefined ? action : say(known)}
      {facts.length > 0 && <span className={style.note}> {facts.join(", ").slice(0, 300)}</span>} <Time at={at} />
    </>
  );
}
