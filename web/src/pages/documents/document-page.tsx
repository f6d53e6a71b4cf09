/** One document with its text; the lines that the address names are marked and brought into sight. */

import type { Document, GetDocumentResponse } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";

import { deleteDocument, getDocument, reindexDocument } from "../../api/documents.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Facts, Line, Note, Problem, Row, Rows, Section } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { bytesText, Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { DocumentBadge, Whereabouts } from "./document-view.tsx";
import { LinedText, rangeOf } from "./lined-text.tsx";
import { useText } from "./text.ts";

/** The page. */
export default function DocumentPage(): ReactNode {
  const say = useText();
  const { document: id = "" } = useParams();
  const query = useQuery({ queryKey: ["document", id], queryFn: () => getDocument({ document: id }) });
  const document = query.data?.document;
  return (
    <Page
      title={document?.title ?? say("title")}
      actions={
        <>
          <LinkButton href="/documents" icon="back" kind="quiet">
            {say("toList")}
          </LinkButton>
          {document !== undefined && <DocumentActions document={document} />}
        </>
      }
    >
      <Loaded query={query} lines={8}>
        {(answer) =>
          answer.document === undefined ? (
            <Empty icon="document" title={say("notFound")} />
          ) : (
            <View document={answer.document} answer={answer} />
          )
        }
      </Loaded>
    </Page>
  );
}

function DocumentActions({ document }: { readonly document: Document }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [asks, setAsks] = useState(false);
  const { id, title } = document;
  const reindex = useMutation({
    mutationFn: () => reindexDocument({ document: id }),
    onSuccess: () => {
      toast(say("reindexed", { title }));
      return queries.invalidateQueries({ queryKey: ["document", id] });
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: () => deleteDocument({ document: id }),
    onSuccess: () => {
      toast(say("removed", { title }));
      void queries.invalidateQueries({ queryKey: ["document-pages"] });
      go("/documents");
    },
    onError: toastError,
  });
  return (
    <>
      <Button icon="retry" busy={reindex.isPending} onClick={() => reindex.mutate()}>
        {say("reindex")}
      </Button>
      <Button kind="danger" icon="trash" busy={remove.isPending} onClick={() => setAsks(true)}>
        {say("remove")}
      </Button>
      {asks && (
        <Confirm
          title={say("removeTitle", { title })}
          text={say("removeText")}
          action={say("remove")}
          onClose={() => setAsks(false)}
          onYes={() => {
            setAsks(false);
            remove.mutate();
          }}
        />
      )}
    </>
  );
}

interface ViewProps {
  readonly document: Document;
  readonly answer: GetDocumentResponse;
}

function View({ document, answer }: ViewProps): ReactNode {
  const say = useText();
  const [search] = useSearchParams();
  return (
    <>
      <Line>
        <DocumentBadge status={document.status} />
      </Line>
      {document.reason !== "" && <Problem>{document.reason}</Problem>}
      <DocumentFacts document={document} />
      <Section title={say("text")}>
        {document.node !== undefined && !document.online && <Note>{say("lastKnown")}</Note>}
        {answer.text === "" ? (
          <Note>{say("noText")}</Note>
        ) : (
          <LinedText label={document.title} text={answer.text} range={rangeOf(search.get("lines") ?? "")} />
        )}
        {answer.text_cut && <Note>{say("textCut")}</Note>}
      </Section>
      <Versions versions={answer.versions} />
    </>
  );
}

function DocumentFacts({ document }: { readonly document: Document }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const { task_id, task_key, run_id, node, offline_since } = document;
  return (
    <Facts
      facts={[
        [say("source"), say(document.source === "upload" ? "fromUpload" : "fromRun", { name: document.created_by })],
        [say("path"), document.path],
        [say("task"), task_id !== undefined && <Link href={`/task/${task_id}`}>{task_key ?? task_id}</Link>],
        [say("run"), run_id !== undefined && <Link href={`/runs/${run_id}`}>{run_id}</Link>],
        [
          say("device"),
          node !== undefined && <Whereabouts node={node} isOnline={document.online} since={offline_since} />,
        ],
        [say("kind"), document.media_type],
        [say("size"), bytesText(document.size_bytes, locale)],
        [say("changed"), <Time key="changed" at={document.updated_at} exact />],
      ]}
    />
  );
}

function Versions({ versions }: { readonly versions: GetDocumentResponse["versions"] }): ReactNode {
  const say = useText();
  if (versions.length === 0) return null;
  return (
    <Section title={say("versions")}>
      <Rows>
        {versions.map(({ version, at, run_id, node }) => (
          <Row key={version}>
            <span>{say("version", { n: version })}</span>
            <Time at={at} exact />
            {run_id !== undefined && <Link href={`/runs/${run_id}`}>{say("run")}</Link>}
            {node !== undefined && <span>{say("on", { node })}</span>}
          </Row>
        ))}
      </Rows>
    </Section>
  );
}
