/**
 * Documents that lie on devices: what runs write under `docs/`.
 *
 * N1  A file whose content did not change costs nothing: its text is asked for once per content.
 * N2  A document whose file is deleted goes; one whose file was renamed goes on, with its versions.
 * N3  While its device is off a document stays with the text that was last read.
 */

import { isDocumentPath, mediaTypeOf } from "@mesh/documents";
import type { Ids } from "@mesh/kernel";
import type { Store, Tx } from "@mesh/store";

import { touchFeed } from "../feed/feed-object.ts";
import type { IndexKey, Told } from "../files/file-store.ts";
import { MAX_DOCUMENTS } from "./limit.ts";
import {
  countDocuments,
  deleteDocuments,
  findUnnamed,
  findWanted,
  findWritten,
  putWritten,
  renameWritten,
} from "./document-store.ts";
import { keepRead } from "./indexing.ts";

/** The text of a document, or why there is none. */
export interface ReadDocument {
  readonly path: string;
  readonly hash: string;
  readonly text: string;
  readonly isCut: boolean;
  /** Empty where there is a text. */
  readonly failure: string;
}

const MAX_WANTED = 50;
const MAX_RENAMED = 200;
const MAX_FILE_BYTES = 32 * 1024 * 1024;

/** See the file comment. */
export class NodeDocuments {
  readonly #store: Store;
  readonly #ids: Ids;

  constructor({ store, ids }: { readonly store: Store; readonly ids: Ids }) {
    this.#store = store;
    this.#ids = ids;
  }

  /** Files have come or changed. */
  async changed(tx: Tx, key: IndexKey, files: readonly Told[]): Promise<void> {
    const found = files.filter(
      (file) => !file.isDirectory && file.hash !== "" && file.size <= MAX_FILE_BYTES && isDocumentPath(file.path),
    );
    if (found.length === 0) return;
    const documents = await this.#withinLimit(tx, key, found);
    const ids = await putWritten(
      tx,
      key,
      documents.map((file) => ({
        id: this.#ids.next("doc"),
        path: file.path,
        title: file.path.slice(file.path.lastIndexOf("/") + 1),
        media_type: mediaTypeOf(file.path),
        size_bytes: file.size,
        hash: file.hash,
        run_id: file.runId,
      })),
    );
    if (ids.length > 0) await touchFeed(tx, key.workspaceId, "document", ...ids);
  }

  /** Files have gone. */
  async gone(tx: Tx, key: IndexKey, paths: readonly string[]): Promise<void> {
    const candidates = paths.filter((path) => isDocumentPath(path));
    if (candidates.length === 0) return;
    const documents = await findWritten(tx, key, candidates);
    const dropped: string[] = [];
    for (const [n, document] of documents.entries()) {
      if (n >= MAX_RENAMED || !(await renameWritten(tx, key, document))) dropped.push(document.id);
    }
    await this.#drop(
      tx,
      key,
      dropped,
      documents.map(({ id }) => id),
    );
  }

  /** A full report has ended: documents whose files it did not name go. */
  async goneUnnamed(tx: Tx, key: IndexKey): Promise<void> {
    const ids = await findUnnamed(tx, key);
    await this.#drop(tx, key, ids, ids);
  }

  /** Documents whose text the device is to send. */
  wanted(tx: Tx, key: IndexKey): Promise<readonly { readonly path: string; readonly hash: string }[]> {
    return findWanted(tx, key, MAX_WANTED);
  }

  /** Keeps the text of a document; one that has changed since, or is gone, stays as it is. */
  async read(key: IndexKey, { path, hash, text, isCut, failure }: ReadDocument): Promise<void> {
    await this.#store.sql.begin(async (tx) => {
      const [document] = await findWritten(tx, key, [path]);
      if (document?.hash !== hash) return;
      const of = { id: document.id, hash, path, workspaceId: key.workspaceId };
      await keepRead(tx, of, failure === "" ? { text, isCut } : { failure });
    });
  }

  async #drop(tx: Tx, { workspaceId }: IndexKey, ids: readonly string[], touched: readonly string[]): Promise<void> {
    await deleteDocuments(tx, ids);
    if (touched.length > 0) await touchFeed(tx, workspaceId, "document", ...touched);
  }

  /** Beyond the most that a workspace may have, only those that it has already change. */
  async #withinLimit(tx: Tx, key: IndexKey, files: readonly Told[]): Promise<readonly Told[]> {
    const room = MAX_DOCUMENTS - (await countDocuments(tx, key.workspaceId));
    if (room >= files.length) return files;
    const known = new Set(
      (
        await findWritten(
          tx,
          key,
          files.map(({ path }) => path),
        )
      ).map(({ path }) => path),
    );
    let left = Math.max(0, room);
    return files.filter(({ path }) => known.has(path) || (left -= 1) >= 0);
  }
}
