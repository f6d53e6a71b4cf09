/** Statements on the text of documents and its passages. */

import { type Chunk, indexText, type Term } from "@mesh/documents";
import type { Sql, Tx } from "@mesh/store";

/** Which content of a document. */
export interface ContentKey {
  readonly id: string;
  /** Of the content that was read: what has a newer one by now is not touched. */
  readonly hash: string;
}

/** A text with its passages. */
export interface IndexedText {
  readonly title: string;
  readonly text: string;
  readonly isCut: boolean;
  readonly chunks: readonly Chunk[];
}

/** Replaces text and passages of a document; false when it has another content by now, or is gone. */
export async function putText(
  tx: Tx,
  { id, hash }: ContentKey,
  { title, text, isCut, chunks }: IndexedText,
): Promise<boolean> {
  const rows = await tx<{ workspace_id: string }[]>`
    UPDATE documents SET title = ${title}, text = ${text}, text_cut = ${isCut}, chunks = ${chunks.length}, status = 'indexed', reason = '',
      attempts = 0, updated_at = now()
    WHERE id = ${id} AND hash = ${hash} RETURNING workspace_id`;
  const [document] = rows;
  if (document === undefined) return false;
  await tx`DELETE FROM document_chunks WHERE document_id = ${id}`;
  if (chunks.length === 0) return true;
  const passages = chunks.map((chunk, n) => ({
    n,
    line_from: chunk.lineFrom,
    line_to: chunk.lineTo,
    heading: chunk.heading,
    text: chunk.text,
    head_words: indexText(`${title} ${chunk.heading}`),
    words: indexText(chunk.text),
  }));
  await tx`
    INSERT INTO document_chunks (document_id, n, workspace_id, line_from, line_to, heading, text, words)
    SELECT ${id}, x.n, ${document.workspace_id}, x.line_from, x.line_to, x.heading, x.text,
      setweight(to_tsvector('simple', x.head_words) || to_tsvector('english', x.head_words), 'A')
        || to_tsvector('simple', x.words) || to_tsvector('english', x.words)
    FROM jsonb_to_recordset(${JSON.stringify(passages)}::text::jsonb)
      AS x (n integer, line_from integer, line_to integer, heading text, text text, head_words text, words text)`;
  return true;
}

/** Notes why a document has no text; what was known of an older content goes, as it would mislead. */
export async function putFailure(tx: Tx, { id, hash }: ContentKey, reason: string): Promise<boolean> {
  const rows = await tx`
    UPDATE documents SET status = 'failed', reason = ${reason}, text = '', text_cut = false, chunks = 0, updated_at = now()
    WHERE id = ${id} AND hash = ${hash} RETURNING id`;
  if (rows.count === 0) return false;
  await tx`DELETE FROM document_chunks WHERE document_id = ${id}`;
  return true;
}

/** A passage that was found. */
export interface PassageRow {
  readonly document_id: string;
  readonly line_from: number;
  readonly line_to: number;
  readonly heading: string;
  readonly text: string;
  /** How many of the terms stand in it. */
  readonly terms: number;
  readonly rank: number;
}

/** Where to search. */
export interface SearchScope {
  readonly workspaceId: string;
  /** Folders below `docs/`, "docs" for all of it, "uploads" for what was uploaded; none means everything. */
  readonly collections: readonly string[];
  readonly limit: number;
}

/** The passages that hold most of the terms, by how well. Needs at least one term. */
export async function searchPassages(
  sql: Sql,
  terms: readonly Term[],
  scope: SearchScope,
): Promise<readonly PassageRow[]> {
  const queries = terms.map((term) => queryOf(sql, term));
  const any = queries.reduce((all, query) => sql`${all} || ${query}`);
  const count = queries.map((query) => sql`(c.words @@ ${query})::int`).reduce((sum, query) => sql`${sum} + ${query}`);
  const { workspaceId, collections, limit } = scope;
  const folders = collections.filter((name) => name !== "docs" && name !== "uploads").map((name) => `docs/${name}/`);
  const where =
    collections.length === 0
      ? sql``
      : sql`AND EXISTS (SELECT 1 FROM documents d WHERE d.id = c.document_id AND (
          (d.source = 'run' AND ${collections.includes("docs")}) OR (d.source = 'upload' AND ${collections.includes("uploads")})
          OR (d.source = 'run' AND EXISTS (SELECT 1 FROM unnest(${folders}::text[]) AS f WHERE starts_with(d.path, f)))))`;
  return sql<PassageRow[]>`
    SELECT c.document_id, c.line_from, c.line_to, c.heading, c.text, ${count} AS terms, ts_rank_cd(c.words, ${any}, 1) AS rank
    FROM document_chunks c
    WHERE c.workspace_id = ${workspaceId} AND c.words @@ (${any}) ${where}
    ORDER BY terms DESC, rank DESC, c.document_id, c.n LIMIT ${limit}`;
}

function queryOf(sql: Sql, term: Term): ReturnType<Sql> {
  if (term.kind === "word") {
    return sql`(plainto_tsquery('simple', ${term.word}) || plainto_tsquery('english', ${term.word}))`;
  }
  const [single, ...more] = term.pairs;
  // A character alone is the beginning of a pair. No sign of a query can be in it: it is a letter.
  if (more.length === 0 && single !== undefined && Array.from(single).length === 1)
    return sql`to_tsquery('simple', ${`${single}:*`})`;
  return sql`phraseto_tsquery('simple', ${term.pairs.join(" ")})`;
}
