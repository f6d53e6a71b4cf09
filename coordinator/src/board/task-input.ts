/**
 * What the next run of a task is asked.
 *
 * I1  What people have said since; with nothing new, the work that did not succeed, or the task as it is written.
 * I2  Files go along as parts of the message they were sent with; the device reads them by their ids.
 * I3  A run takes up as much as fits into its work item, the oldest first; what does not fit starts the next one.
 */

import { isObject, MeshError } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import { UPLOAD_URI } from "../knowledge/limit.ts";
import { MAX_WORK_BYTES } from "../runs/run-draft.ts";
import type { RunState } from "../runs/run-state.ts";
import { nameOf } from "./actor.ts";
import {
  appendMessages,
  type MessageRow,
  openMessages,
  takeMessages,
  textMessage,
  textOfBody,
  uploadsOf,
} from "./conversation-store.ts";
import { readMeanwhile, settleRead, wantNext } from "./steer.ts";
import type { TaskFields } from "./task-row.ts";

/** The newest run of a task. */
export interface NewestRun {
  readonly id: string;
  readonly state: RunState;
  readonly input: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a run is asked. */
export interface TaskInput {
  /** All that was said as one text; also what lists of runs show. */
  readonly input: string;
  /** `messages` with parts where files go along; otherwise nothing. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Whether something that was said has to wait for the next run. */
  readonly hasMore: boolean;
}

/** Gives the input of a new run of a locked task, and notes the messages that it takes up. */
export async function takeInput(
  tx: Tx,
  task: TaskFields,
  { last, runId, actor }: { readonly last: NewestRun | undefined; readonly runId: string; readonly actor: string },
): Promise<TaskInput> {
  // Its last events may not have been looked at yet: what it has read is not read again.
  if (last !== undefined) await settleRead(tx, task.id, last.id);
  const written = task.description === "" ? task.title : task.description;
  const open = await openMessages(tx, task.id);
  const taken = fitting(open, written);
  if (taken !== undefined) {
    await takeMessages(tx, task.id, runId, taken.lastSeq);
    const hasMore = open.at(-1)?.seq !== taken.lastSeq;
    if (hasMore) await wantNext(tx, task.id);
    return { ...taken.asked, hasMore };
  }
  const isAgain = last !== undefined && last.state !== "succeeded";
  const asked = isAgain ? askedAgain(last, await readMeanwhile(tx, last.id)) : { input: written, options: {} };
  const body = textMessage(asked.input, uploadsIn(asked.options));
  await appendMessages(tx, task.id, [{ role: "user", author: nameOf(actor), runId, body }]);
  return { ...asked, hasMore: false };
}

type Asked = Omit<TaskInput, "hasMore">;

/** As many of the messages as one run can carry, at least one; undefined when there are none. */
function fitting(
  open: readonly MessageRow[],
  written: string,
): { readonly asked: Asked; readonly lastSeq: number } | undefined {
  const said: Said[] = [];
  let fit: { readonly asked: Asked; readonly lastSeq: number } | undefined;
  let bytes = 0;
  for (const { seq, body } of open) {
    const parsed: unknown = JSON.parse(body);
    said.push({ text: textOfBody(parsed), uploads: uploadsOf(parsed) });
    // Twice: as the input, and as parts of the message.
    bytes += 2 * Buffer.byteLength(body);
    if (fit !== undefined && bytes > MAX_WORK_BYTES) break;
    fit = { asked: askedBy(said, written), lastSeq: seq };
  }
  return fit;
}

interface Said {
  readonly text: string;
  readonly uploads: readonly string[];
}

// One message, whatever they are: a chat remembers the last thing that was said to a run.
function askedBy(said: readonly Said[], written: string): Asked {
  const texts = said.map(({ text }) => text).filter((text) => text !== "");
  const input = texts.length === 0 ? written : texts.join("\n\n");
  if (said.every(({ uploads }) => uploads.length === 0)) return { input, options: {} };
  const start = texts.length === 0 ? [textPart(written)] : [];
  const content = said.flatMap(({ text, uploads }) => [
    ...(text === "" ? [] : [textPart(text)]),
    ...uploads.map((id) => ({ type: "file", file: { file_id: id } })),
  ]);
  return { input, options: { messages: [{ role: "user", content: [...start, ...content] }] } };
}

/** What a run was asked, with what people said to it while it worked. */
function askedAgain({ input, options }: NewestRun, read: readonly string[]): Asked {
  if (read.length === 0) return { input, options };
  const all = { input: [input, ...read].join("\n\n"), options: {} };
  const [message] = arrayOf(options["messages"]);
  if (!isObject(message)) return all;
  const content = [...arrayOf(message["content"]), ...read.map(textPart)];
  return { ...all, options: { messages: [{ role: "user", content }] } };
}

function textPart(text: string): { readonly type: "text"; readonly text: string } {
  return { type: "text", text };
}

/** The files among the options that `askedBy` made. */
function uploadsIn({ messages }: Readonly<Record<string, unknown>>): readonly string[] {
  return arrayOf(messages).flatMap((message) =>
    arrayOf(isObject(message) ? message["content"] : undefined).flatMap((part) => {
      const file = isObject(part) ? part["file"] : undefined;
      const id = isObject(file) ? file["file_id"] : undefined;
      return typeof id === "string" ? [id] : [];
    }),
  );
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Refuses files that are not, or no longer, among the uploads of a workspace; a document's id means its upload. */
export async function requireUploads(tx: Tx, workspaceId: string, uploads: readonly string[]): Promise<void> {
  if (uploads.length === 0) return;
  const ids = uploads.map((id) => (id.startsWith(UPLOAD_URI) ? id.slice(UPLOAD_URI.length) : id));
  const rows = await tx<{ id: string }[]>`
    SELECT id FROM uploads WHERE workspace_id = ${workspaceId} AND id = ANY(${ids}) AND (expires_at IS NULL OR expires_at > now())
    UNION SELECT id FROM documents WHERE workspace_id = ${workspaceId} AND id = ANY(${ids}) AND upload_id IS NOT NULL`;
  const known = new Set(rows.map(({ id }) => id));
  const missing = uploads.find((_upload, index) => !known.has(ids[index] ?? ""));
  if (missing === undefined) return;
  throw new MeshError(
    "not_found",
    `there is no upload ${missing} in this workspace; upload the file again with POST /v1/workspaces/WORKSPACE/uploads`,
  );
}
