/** The text of a document on this device, for the coordinator. Unchanged documents are never asked for twice. */

import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

import { type Clock, MeshError } from "@mesh/kernel";
import { FileTextReport, type WantedText } from "@mesh/proto/wire";

import type { Ask } from "./report.ts";
import { WorkspaceFolder } from "./workspace-folder.ts";

const RPC = "file_text";
const MAX_FILE_BYTES = 32 * 1024 * 1024;
// Below what one message of the bus carries.
const MAX_DEFLATED_BYTES = 900 * 1024;

/** Which text of which workspace. */
export interface TextOrder {
  readonly workspaceId: string;
  readonly dir: string;
  readonly wanted: WantedText;
  readonly clock: Clock;
}

/** Reads and sends it; a document without text is told with the reason. Says nothing of one that has changed since. */
export async function sendText(order: TextOrder, ask: Ask, signal: AbortSignal): Promise<void> {
  const { workspaceId, wanted } = order;
  const head = { workspace_id: workspaceId, path: wanted.path, hash: wanted.hash };
  let message: FileTextReport | undefined;
  try {
    message = await textOf(order, head, signal);
  } catch (thrown) {
    signal.throwIfAborted();
    const { code, message: reason } = MeshError.from(thrown);
    const failure = code === "internal" ? "it could not be read on its device" : reason.slice(0, 500);
    message = { ...head, deflated: Buffer.alloc(0), cut: false, failure };
  }
  if (message !== undefined) await ask(RPC, FileTextReport.encode(message).finish(), signal);
}

async function textOf(
  { dir, wanted, clock }: TextOrder,
  head: Pick<FileTextReport, "workspace_id" | "path" | "hash">,
  signal: AbortSignal,
): Promise<FileTextReport | undefined> {
  const bytes = await new WorkspaceFolder(dir).readAll(wanted.path, MAX_FILE_BYTES);
  if (createHash("sha256").update(bytes).digest("hex") !== wanted.hash) return undefined;
  // Loaded only now: a device without documents never needs it.
  const { extractInThread } = await import("@mesh/documents");
  const { text, isCut } = await extractInThread({ bytes, name: wanted.path }, { clock, signal });
  const { deflated, wasCut } = squeezed(text);
  return { ...head, deflated, cut: isCut || wasCut, failure: "" };
}

/** A text that hardly becomes smaller is cut until it fits. */
function squeezed(text: string): { readonly deflated: Buffer; readonly wasCut: boolean } {
  for (let kept = text, wasCut = false; ; kept = kept.slice(0, Math.floor(kept.length * 0.8)), wasCut = true) {
    const deflated = deflateSync(kept);
    if (deflated.length <= MAX_DEFLATED_BYTES) return { deflated, wasCut };
  }
}
