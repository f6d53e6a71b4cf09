/** The files of a workspace on all its devices, those that are off included. */

import type { File as MeshFile, Node } from "@mesh/proto";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { listFiles } from "../../api/files.ts";
import { listNodes } from "../../api/nodes.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { useFeed } from "../../feed/use-feed.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Main, Note, Row, Rows } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { reloadFilePages } from "./file-feed.ts";
import { crumbsOf, groupedOf, nameOf } from "./file-path.ts";
import { FileRow } from "./file-row.tsx";
import { FileUpload } from "./file-upload.tsx";
import style from "./files.module.css";
import { useText } from "./text.ts";

/** What the address says: which directory, which device, which words. */
interface Place {
  readonly path: string;
  readonly node: string;
  readonly query: string;
}

/** The page. */
export default function FilesPage(): ReactNode {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const place: Place = {
    path: search.get("path") ?? "",
    node: search.get("device") ?? "",
    query: search.get("q") ?? "",
  };
  const nodes = useQuery({ queryKey: ["nodes"], queryFn: () => listNodes({}) });
  const go = (change: Partial<Place>): void => setSearch(addressOf({ ...place, ...change }));
  const known = nodes.data?.nodes ?? [];
  useFeed("file", reloadFilePages);
  return (
    <Page title={say("title")}>
      <Crumbs place={place} />
      <Tools key={place.query} place={place} nodes={known} onGo={go} />
      <FileUpload directory={place.path} nodes={known} node={place.node} />
      <Listing place={place} nodes={known} />
    </Page>
  );
}

function addressOf({ path, node, query }: Place): Record<string, string> {
  const all = { path, device: node, q: query };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
}

function linkTo(place: Place): string {
  const search = new URLSearchParams(addressOf(place)).toString();
  return search === "" ? "/files" : `/files?${search}`;
}

function Crumbs({ place }: { readonly place: Place }): ReactNode {
  const say = useText();
  const crumbs = crumbsOf(place.path);
  return (
    <nav aria-label={say("path")} className={style.crumbs}>
      <Link href={linkTo({ ...place, path: "", query: "" })}>{say("top")}</Link>
      {crumbs.map(({ name, path }, index) => (
        <span key={path}>
          /{" "}
          <Link
            href={linkTo({ ...place, path, query: "" })}
            aria-current={index === crumbs.length - 1 ? "page" : undefined}
          >
            {name}
          </Link>
        </span>
      ))}
    </nav>
  );
}

interface ToolsProps {
  readonly place: Place;
  readonly nodes: readonly Node[];
  readonly onGo: (change: Partial<Place>) => void;
}

function Tools({ place, nodes, onGo }: ToolsProps): ReactNode {
  const say = useText();
  const [text, setText] = useState(place.query);
  return (
    <div className={style.tools}>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          onGo({ query: text.trim() });
        }}
      >
        <TextField
          label={say("search")}
          type="search"
          maxLength={200}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button type="submit" icon="search">
          {say("find")}
        </Button>
      </form>
      <SelectField
        label={say("device")}
        value={place.node}
        options={[["", say("anyDevice")], ...nodes.map(({ id, name }) => [id, name] as const)]}
        onChange={(event) => onGo({ node: event.target.value })}
      />
    </div>
  );
}

function Listing({ place, nodes }: { readonly place: Place; readonly nodes: readonly Node[] }): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const { path, node, query } = place;
  const files = useInfiniteQuery({
    queryKey: ["file-pages", workspace, path, node, query],
    queryFn: ({ pageParam }) => listFiles({ workspace, path, node, query, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
  const again = (): void => void queries.invalidateQueries({ queryKey: ["file-pages"] });
  return (
    <>
      <Loaded query={files} lines={6}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.files);
          if (all.length === 0) return <Nothing isSearch={query !== ""} />;
          const { directories, files: plain } = groupedOf(all);
          return (
            <Rows label={say("title")}>
              {directories.map((directory) => (
                <DirectoryRow key={directory.path} place={place} directory={directory} />
              ))}
              {plain.map((file) => (
                <FileRow
                  key={`${file.node_id} ${file.path}`}
                  workspace={workspace}
                  file={file}
                  nodes={nodes}
                  isSearch={query !== ""}
                  onDone={again}
                />
              ))}
            </Rows>
          );
        }}
      </Loaded>
      {files.hasNextPage && (
        <Button busy={files.isFetchingNextPage} onClick={() => void files.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </>
  );
}

function Nothing({ isSearch }: { readonly isSearch: boolean }): ReactNode {
  const say = useText();
  if (isSearch) return <Empty icon="search" title={say("noneFound")} text={say("noneFoundText")} />;
  return (
    <Empty icon="folder" title={say("none")} text={say("noneText")}>
      <LinkButton href="/devices">{say("toDevices")}</LinkButton>
    </Empty>
  );
}

interface DirectoryRowProps {
  readonly place: Place;
  readonly directory: { readonly path: string; readonly on: readonly MeshFile[] };
}

function DirectoryRow({ place, directory: { path, on } }: DirectoryRowProps): ReactNode {
  const say = useText();
  return (
    <Row>
      <Main>
        <Link className={style.name} href={linkTo({ ...place, path, query: "" })}>
          <Icon name="folder" /> {place.query === "" ? nameOf(path) : path}
        </Link>
      </Main>
      <Note>
        {say("folder")} · {on.map(({ node }) => node).join(", ")}
      </Note>
    </Row>
  );
}
