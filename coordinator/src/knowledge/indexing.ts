/** Makes a text findable: its title, its passages, and the event that it changed. */

import { type Chunk, chunkText } from "@mesh/documents";
import type { Tx } from "@mesh/store";

import { touchFeed } from "../feed/feed-object.ts";
import { type ContentKey, putFailure, putText } from "./passage-store.ts";

const MAX_TITLE_CHARS = 200;
// A text of a megabyte has some seven hundred.
const MAX_CHUNKS = 2_000;

/** What was read of a document: a text, or why there is none. */
export type ReadResult = { readonly text: string; readonly isCut: boolean } | { readonly failure: string };

/** Keeps what was read of a document's content, in a transaction; what has a newer content by now stays as it is. */
export async function keepRead(
  tx: Tx,
  document: ContentKey & { readonly workspaceId: string; readonly path: string },
  result: ReadResult,
): Promise<void> {
  const hasChanged =
    "failure" in result
      ? await putFailure(tx, document, result.failure)
      : await putText(tx, document, {
          title: titleOf(result.text, document.path),
          text: result.text,
          isCut: result.isCut,
          chunks: passagesOf(result.text),
        });
  if (hasChanged) await touchFeed(tx, document.workspaceId, "document", document.id);
}

/** A document's title: its first heading, else its name. */
export function titleOf(text: string, path: string): string {
  const heading = /^#{1,2}[ \t]+(\S.{0,300})$/m.exec(text.slice(0, 20_000))?.[1]?.trim();
  const name = path.slice(path.lastIndexOf("/") + 1);
  return (heading === undefined || heading === "" ? name : heading).slice(0, MAX_TITLE_CHARS);
}

function passagesOf(text: string): readonly Chunk[] {
  return chunkText(text).slice(0, MAX_CHUNKS);
}
