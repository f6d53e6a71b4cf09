/** All events of a run: opens at the newest, however many there are; older ones come when one scrolls up. */

import type { Task } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "wouter";

import { getRun } from "../../api/runs.ts";
import { Empty, Loaded } from "../../ui/state.tsx";
import { EventList } from "../runs/event-list.tsx";
import { useText } from "./text.ts";

/** The tab: of the run in the address, else of the task's newest. */
export default function TraceTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const [search] = useSearchParams();
  const id = search.get("run") ?? task.run_id;
  if (id === undefined || id === "") return <Empty icon="play" title={say("noRuns")} />;
  return <TraceOf key={id} id={id} />;
}

function TraceOf({ id }: { readonly id: string }): ReactNode {
  const run = useQuery({ queryKey: ["run", id], queryFn: () => getRun({ run: id }) });
  return (
    <Loaded query={run}>
      {(answer) => (answer.run === undefined ? null : <EventList run={id} lastSeq={answer.run.last_seq} />)}
    </Loaded>
  );
}
