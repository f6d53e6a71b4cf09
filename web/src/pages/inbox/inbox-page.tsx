/** What needs a person, what failed and what was done. */

import type { InboxEntry } from "@mesh/proto";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation, useSearchParams } from "wouter";

import { listInbox, markInbox } from "../../api/inbox.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button, IconButton, LinkButton } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import type { IconName } from "../../ui/icon.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge, Empty, Hidden, Loaded, type Tone } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import style from "./inbox.module.css";
import { useText } from "./text.ts";

const KINDS = ["needs_input", "failed", "done"] as const;
type Kind = (typeof KINDS)[number];
type State = "read" | "unread" | "archived" | "restored";

const LOOKS: Readonly<Record<Kind, readonly [Tone, IconName]>> = {
  needs_input: ["warn", "question"],
  failed: ["danger", "warning"],
  done: ["good", "check"],
};

function kindOf(name: string | null): Kind | undefined {
  return KINDS.find((kind) => kind === name);
}

/** The page. */
export default function InboxPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [search, setSearch] = useSearchParams();
  const kind = kindOf(search.get("kind"));
  const archived = search.get("kind") === "archived";
  const inbox = useInfiniteQuery({
    queryKey: ["inbox", workspace, kind, archived],
    queryFn: ({ pageParam }) => listInbox({ workspace, kind, archived, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
  const mark = useMark();
  const options = [
    ["", say("all")],
    ...KINDS.map((name) => [name, say(name)] as const),
    ["archived", say("archived")],
  ] as const;
  return (
    <Page
      title={say("title")}
      actions={
        <>
          <SelectField
            label={say("filter")}
            hideLabel
            value={kind ?? (archived ? "archived" : "")}
            options={options}
            onChange={({ target }) => setSearch(target.value === "" ? {} : { kind: target.value })}
          />
          <Button icon="check" onClick={() => mark.mutate({ entries: [], state: "read" })}>
            {say("readAll")}
          </Button>
        </>
      }
    >
      <Loaded query={inbox}>
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.entries);
          return entries.length === 0 ? <Nothing /> : <Entries entries={entries} onMark={mark.mutate} />;
        }}
      </Loaded>
      {inbox.hasNextPage && (
        <Button busy={inbox.isFetchingNextPage} onClick={() => void inbox.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </Page>
  );
}

/** Marks entries and brings the list up to date. */
function useMark() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (request: { entries: string[]; state: State }) => markInbox(request),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["inbox"] }),
    onError: toastError,
  });
}

function Nothing(): ReactNode {
  const say = useText();
  return (
    <Empty icon="inbox" title={say("nothing")} text={say("nothingText")}>
      <LinkButton href="/board" kind="primary">
        {say("toBoard")}
      </LinkButton>
    </Empty>
  );
}

interface EntriesProps {
  readonly entries: readonly InboxEntry[];
  readonly onMark: (request: { entries: string[]; state: State }) => void;
}

function Entries({ entries, onMark }: EntriesProps): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  const open = ({ id, task_id, read }: InboxEntry): void => {
    if (!read) onMark({ entries: [id], state: "read" });
    go(`/task/${task_id}`);
  };
  return (
    <ul className={style.list}>
      {entries.map((entry) => {
        const kind = kindOf(entry.kind) ?? "done";
        const [tone, icon] = LOOKS[kind];
        return (
          <li key={entry.id} className={entry.read ? style.entry : style.unread}>
            <Badge tone={tone} icon={icon}>
              {say(kind)}
            </Badge>
            <div className={style.body}>
              <Link
                href={`/task/${entry.task_id}`}
                onClick={(event) => {
                  event.preventDefault();
                  open(entry);
                }}
              >
                {entry.task_key} {entry.title}
                {!entry.read && <Hidden>, {say("unread")}</Hidden>}
              </Link>
              <p className={style.text}>{entry.text}</p>
            </div>
            <Time at={entry.at} />
            <IconButton
              icon={entry.archived ? "retry" : "archive"}
              label={`${say(entry.archived ? "restore" : "archive")}: ${entry.task_key}`}
              onClick={() => onMark({ entries: [entry.id], state: entry.archived ? "restored" : "archived" })}
            />
          </li>
        );
      })}
    </ul>
  );
}
