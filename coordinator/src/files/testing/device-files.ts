/** A device at the wire that holds files in memory and does what commands say. For tests. */

import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

import { subjects } from "@mesh/bus";
import { MeshError } from "@mesh/kernel";
import { Command, CommandAnswer, FilesAnswer, FilesReport, FileTextReport, type IndexedFile } from "@mesh/proto";

import type { Device } from "../../membership/testing/fleet.ts";

/** Hex SHA-256. */
export function sha(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A file as a device tells it. */
export function indexed(path: string, content: string, over: Partial<IndexedFile> = {}): IndexedFile {
  const size_bytes = Buffer.byteLength(content);
  return {
    path,
    is_directory: false,
    size_bytes,
    hash: sha(content),
    modified_ms: 1_700_000_000_000,
    run_id: "",
    ...over,
  };
}

/** See the file comment. */
export class DeviceFiles {
  readonly content: Map<string, Buffer> = new Map();
  readonly commands: string[] = [];
  /** Called after each part that was read. */
  afterRead: () => void = () => undefined;
  readonly #device: Device;
  readonly #drafts = new Map<string, Buffer[]>();

  constructor(device: Device) {
    this.#device = device;
    device.bus.serve(subjects.command(device.digest), async (data) =>
      CommandAnswer.encode(CommandAnswer.fromPartial({ ok: true, ...this.#execute(Command.decode(data)) })).finish(),
    );
  }

  /** Reports changes as a device does. */
  async report(page: Parameters<typeof FilesReport.fromPartial>[0]): Promise<FilesAnswer> {
    const message = FilesReport.fromPartial({ first: true, last: true, ...page });
    return FilesAnswer.decode(await this.#ask("files", FilesReport.encode(message).finish()));
  }

  /** Sends the text of a document. */
  async text(workspaceId: string, path: string, content: string, over: Partial<FileTextReport> = {}): Promise<void> {
    const report = { workspace_id: workspaceId, path, hash: sha(content), deflated: deflateSync(content), ...over };
    await this.#ask("file_text", FileTextReport.encode(FileTextReport.fromPartial(report)).finish());
  }

  #ask(method: string, data: Uint8Array): Promise<Uint8Array> {
    return this.#device.bus.request(subjects.rpc(this.#device.digest, method), data, { timeoutMs: 5_000 });
  }

  #execute({ command }: Command): Parameters<typeof CommandAnswer.fromPartial>[0] {
    if (command?.$case !== "file") throw new MeshError("unimplemented", "only files");
    const { path, action } = command.value;
    this.commands.push(`${action?.$case ?? ""} ${path}`);
    const content = this.content.get(path);
    if (action?.$case === "look") return {};
    if (action?.$case === "write") return this.#write(path, action.value);
    if (content === undefined) throw new MeshError("not_found", `${path}: there is no such file on this device`);
    const facts = (name: string): object => ({
      file: {
        path: name,
        size_bytes: content.length,
        hash: sha(content),
        modified_ms: 1_700_000_000_000,
        revision: sha(content),
      },
    });
    switch (action?.$case) {
      case "read": {
        const { offset, limit } = action.value;
        const answer = { ...facts(path), bytes: content.subarray(offset, offset + limit) };
        this.afterRead();
        return answer;
      }
      case "move":
        this.content.delete(path);
        this.content.set(action.value.to, content);
        return facts(action.value.to);
      case "delete":
        this.content.delete(path);
        return {};
      default:
        return facts(path);
    }
  }

  #write(
    path: string,
    part: { readonly draft: string; readonly bytes: Uint8Array; readonly last: boolean; readonly hash: string },
  ): Parameters<typeof CommandAnswer.fromPartial>[0] {
    const parts = [...(this.#drafts.get(part.draft) ?? []), Buffer.from(part.bytes)];
    this.#drafts.set(part.draft, parts);
    if (!part.last) return {};
    const content = Buffer.concat(parts);
    if (sha(content) !== part.hash) throw new MeshError("data_loss", "damaged");
    this.content.set(path, content);
    return {
      file: { path, size_bytes: content.length, hash: part.hash, modified_ms: 1_700_000_000_000, revision: part.hash },
    };
  }
}
