/** The runs of a workspace, the newest first. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useSearchParams } from "wouter";

import { listNodes } from "../../api/nodes.ts";
import { listRuns } from "../../api/runs.ts";
import { useFeed } from "../../feed/use-feed.tsx";
import { useWorkspace } from "../../app/workspace.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { RUN_STATES } from "./run-state-names.ts";
import { RunRows } from "./run-rows.tsx";
import { reloadRunPages } from "./run-feed.ts";
import { useText } from "./text.ts";
import { useText as useStateText } from "../work/text.ts";

/** The page. */
export default function RunsPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [search, setSearch] = useSearchParams();
  const state = search.get("state") ?? "";
  const node = search.get("device") ?? "";
  useFeed("run", reloadRunPages);
  const runs = useInfiniteQuery({
    queryKey: ["run-pages", workspace, state, node],
    queryFn: ({ pageParam }) => listRuns({ workspace, state, node, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
  const isFiltered = state !== "" || node !== "";
  return (
    <Page title={say("title")} actions={<Filters state={state} node={node} onChange={setSearch} />}>
      <Loaded query={runs} lines={8}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.runs);
          if (all.length > 0) return <RunRows label={say("title")} runs={all} />;
          return isFiltered ? (
            <Empty icon="search" title={say("noneFit")} text={say("noneFitText")}>
              <Button onClick={() => setSearch({})}>{say("clear")}</Button>
            </Empty>
          ) : (
            <Empty icon="play" title={say("none")} text={say("noneText")}>
              <LinkButton href="/assistants" kind="primary">
                {say("toAssistants")}
              </LinkButton>
            </Empty>
          );
        }}
      </Loaded>
      {runs.hasNextPage && (
        <Button busy={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </Page>
  );
}

interface FilterProps {
  readonly state: string;
  readonly node: string;
  readonly onChange: (search: Record<string, string>) => void;
}

function Filters({ state, node, onChange }: FilterProps): ReactNode {
  const say = useText();
  const sayState = useStateText();
  const nodes = useQuery({ queryKey: ["nodes"], queryFn: () => listNodes({}) });
  const set = (change: { state?: string; device?: string }): void => {
    const all = { state, device: node, ...change };
    onChange(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "")));
  };
  return (
    <>
      <SelectField
        label={say("state")}
        hideLabel
        value={state}
        options={[["", say("anyState")], ...RUN_STATES.map((name) => [name, sayState(name)] as const)]}
        onChange={({ target }) => set({ state: target.value })}
      />
      <SelectField
        label={say("device")}
        hideLabel
        value={node}
        options={[["", say("anyDevice")], ...(nodes.data?.nodes.map(({ id, name }) => [id, name] as const) ?? [])]}
        onChange={({ target }) => set({ device: target.value })}
      />
    </>
  );
}
