/** The documents of a workspace: what runs wrote and what people uploaded, with a search in all of them. */

import type { Document, DocumentHit } from "@mesh/proto";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { listDocuments, searchDocuments, uploadDocument } from "../../api/documents.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { useFeed } from "../../feed/use-feed.tsx";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Line, Main, Note, Problem, Row, Rows } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { reloadDocumentPages } from "./document-feed.ts";
import { DocumentBadge, Provenance } from "./document-view.tsx";
import style from "./documents.module.css";
import { piecesOf } from "./snippet.ts";
import { useText } from "./text.ts";
import { UploadZone } from "./upload-zone.tsx";
import { useUpload } from "./use-upload.ts";

/** The page; what is searched for stands in the address. */
export default function DocumentsPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const [search, setSearch] = useSearchParams();
  const query = search.get("q") ?? "";
  useFeed("document", reloadDocumentPages);
  const { busyWith, upload } = useUpload(
    (file) => uploadDocument({ workspace, name: file.name }, { bytes: file }),
    () => queries.invalidateQueries({ queryKey: ["document-pages"] }),
  );
  return (
    <Page title={say("title")}>
      <SearchForm key={query} query={query} onSearch={(text) => setSearch(text === "" ? {} : { q: text })} />
      <UploadZone onFiles={upload} busyWith={busyWith} />
      {query === "" ? <All workspace={workspace} /> : <Hits workspace={workspace} query={query} />}
    </Page>
  );
}

function SearchForm({
  query,
  onSearch,
}: {
  readonly query: string;
  readonly onSearch: (query: string) => void;
}): ReactNode {
  const say = useText();
  const [text, setText] = useState(query);
  return (
    <form
      role="search"
      className={style.search}
      onSubmit={(event) => {
        event.preventDefault();
        onSearch(text.trim());
      }}
    >
      <TextField
        label={say("search")}
        type="search"
        maxLength={1_000}
        placeholder={say("searchHint")}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" icon="search">
        {say("searchButton")}
      </Button>
      {query !== "" && (
        <Button kind="quiet" onClick={() => onSearch("")}>
          {say("clear")}
        </Button>
      )}
    </form>
  );
}

function All({ workspace }: { readonly workspace: string }): ReactNode {
  const say = useText();
  const documents = useInfiniteQuery({
    queryKey: ["document-pages", workspace],
    queryFn: ({ pageParam }) => listDocuments({ workspace, limit: 50, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
  });
  return (
    <>
      <Loaded query={documents} lines={6}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.documents);
          if (all.length === 0) return <Empty icon="document" title={say("none")} text={say("noneText")} />;
          return (
            <Rows label={say("title")}>
              {all.map((document) => (
                <DocumentRow key={document.id} document={document} />
              ))}
            </Rows>
          );
        }}
      </Loaded>
      {documents.hasNextPage && (
        <Button busy={documents.isFetchingNextPage} onClick={() => void documents.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </>
  );
}

function DocumentRow({ document }: { readonly document: Document }): ReactNode {
  return (
    <Row>
      <Main>
        <Line>
          <Link href={`/documents/${document.id}`}>
            <strong>{document.title}</strong>
          </Link>
          <DocumentBadge status={document.status} />
        </Line>
        {document.reason !== "" && <Problem>{document.reason}</Problem>}
        <Note>
          <Provenance document={document} />
        </Note>
      </Main>
      <Note>
        <Time at={document.updated_at} />
      </Note>
    </Row>
  );
}

function Hits({ workspace, query }: { readonly workspace: string; readonly query: string }): ReactNode {
  const say = useText();
  const hits = useQuery({
    queryKey: ["document-hits", workspace, query],
    queryFn: () => searchDocuments({ workspace, query, limit: 20 }),
  });
  return (
    <Loaded query={hits} lines={6}>
      {(answer) =>
        answer.hits.length === 0 ? (
          <Empty icon="search" title={say("noHits")} text={say("noHitsText")} />
        ) : (
          <>
            <p role="status">{say("hits", { count: answer.hits.length })}</p>
            <Rows label={say("search")}>
              {answer.hits.map((hit, index) => (
                <HitRow key={`${hit.document?.id} ${index}`} hit={hit} />
              ))}
            </Rows>
          </>
        )
      }
    </Loaded>
  );
}

function HitRow({ hit: { document, snippet, line_from, line_to } }: { readonly hit: DocumentHit }): ReactNode {
  const say = useText();
  if (document === undefined) return null;
  return (
    <Row>
      <Main>
        <Line>
          <Link href={`/documents/${document.id}?lines=${line_from}-${line_to}`}>
            <strong>{document.title}</strong>, {say("lines", { from: line_from, to: line_to })}
          </Link>
        </Line>
        <p className={style.snippet}>
          {piecesOf(snippet).map(({ text, isFound }, index) => (isFound ? <mark key={index}>{text}</mark> : text))}
        </p>
        <Note>
          <Provenance document={document} />
        </Note>
      </Main>
    </Row>
  );
}
