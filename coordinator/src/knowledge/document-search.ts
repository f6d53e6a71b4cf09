/** Finds passages of a workspace's documents. */

import { queryTerms, snippetOf } from "@mesh/documents";
import type { Sql } from "@mesh/store";

import { type DocumentRow, findDocuments } from "./document-store.ts";
import { type PassageRow, searchPassages, type SearchScope } from "./passage-store.ts";

/** A passage that was found. */
export interface Hit {
  readonly document: DocumentRow;
  /** With the words found between U+E000 and U+E001. */
  readonly snippet: string;
  readonly passage: string;
  readonly heading: string;
  /** Lines of the snippet in the document's text, from 1. */
  readonly lineFrom: number;
  readonly lineTo: number;
  /** 0 to 1: how many of the words stand in it, then how well compared with the best. */
  readonly score: number;
}

const MAX_PER_DOCUMENT = 3;

/** The best passages, at most three of a document; none for a query without words. */
export async function searchDocuments(sql: Sql, query: string, scope: SearchScope): Promise<readonly Hit[]> {
  const terms = queryTerms(query);
  if (terms.length === 0) return [];
  const rows = await searchPassages(sql, terms, { ...scope, limit: scope.limit * MAX_PER_DOCUMENT });
  const kept = bestOf(rows).slice(0, scope.limit);
  const documents = new Map(
    (
      await findDocuments(
        sql,
        kept.map((row) => row.document_id),
      )
    ).map((row) => [row.id, row]),
  );
  const best = Math.max(...kept.map(({ rank }) => rank), Number.MIN_VALUE);
  return kept.flatMap((row) => {
    const document = documents.get(row.document_id);
    if (document === undefined) return [];
    const snippet = snippetOf(row.text, terms);
    return {
      document,
      snippet: snippet.text,
      passage: row.text,
      heading: row.heading,
      lineFrom: row.line_from + snippet.lineFrom,
      lineTo: Math.min(row.line_to, row.line_from + snippet.lineTo),
      score: Math.round((0.6 * (row.terms / terms.length) + 0.4 * (row.rank / best)) * 1_000) / 1_000,
    };
  });
}

function bestOf(rows: readonly PassageRow[]): readonly PassageRow[] {
  const counts = new Map<string, number>();
  return rows.filter(({ document_id: id }) => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    return count <= MAX_PER_DOCUMENT;
  });
}
