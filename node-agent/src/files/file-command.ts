/** Commands on the files of a workspace, executed on this device. */

import { type Clock, MeshError } from "@mesh/kernel";
import type { CommandAnswer, FileCommand, FileFacts } from "@mesh/proto/wire";

import { DraftStore } from "./draft-store.ts";
import { WorkspaceFolder } from "./workspace-folder.ts";

/** What commands act on. */
export interface FileCommandDeps {
  readonly clock: Clock;
  /** Throws for an id that is none. */
  readonly workspaceDir: (workspaceId: string) => string;
  readonly draftDir: string;
  /** Files of a workspace were changed at these paths. */
  readonly touched: (workspaceId: string, paths: readonly string[]) => void;
}

const MAX_AT_ONCE = 32;

/** Executes file commands; see {@link FileCommand}. */
export class FileCommands {
  readonly #deps: FileCommandDeps;
  readonly #drafts: DraftStore;
  #running = 0;

  constructor(deps: FileCommandDeps) {
    this.#deps = deps;
    this.#drafts = new DraftStore(deps.draftDir, deps.clock);
  }

  /** Throws what the asking side should know. */
  async execute(command: FileCommand): Promise<CommandAnswer> {
    if (this.#running >= MAX_AT_ONCE)
      throw new MeshError("unavailable", "the device has many files to see to; try again");
    this.#running += 1;
    try {
      return await this.#execute(command);
    } finally {
      this.#running -= 1;
    }
  }

  async #execute({ workspace_id: workspaceId, path, action }: FileCommand): Promise<CommandAnswer> {
    const folder = new WorkspaceFolder(this.#deps.workspaceDir(workspaceId));
    const touched = (...paths: readonly string[]): void => this.#deps.touched(workspaceId, paths);
    switch (action?.$case) {
      case "stat":
        return answerOf(await folder.stat(path));
      case "read": {
        const { file, bytes } = await folder.read(path, action.value.offset, action.value.limit);
        return answerOf(file, bytes);
      }
      case "write": {
        const { draft, offset, bytes, last, hash, if_hash: ifHash } = action.value;
        const place = await this.#drafts.add(draft, offset, bytes);
        if (!last) return answerOf(undefined);
        await this.#drafts.verify(place, hash);
        try {
          const file = await folder.put(path, place, { hash, ifHash });
          touched(path);
          return answerOf(file);
        } finally {
          await this.#drafts.drop(place);
        }
      }
      case "move": {
        const file = await folder.move(path, action.value.to);
        touched(path, action.value.to);
        return answerOf(file);
      }
      case "delete":
        await folder.delete(path);
        touched(path);
        return answerOf(undefined);
      case "look":
        touched();
        return answerOf(undefined);
      case undefined:
        throw new MeshError("unimplemented", "the device does not know this file command; update it");
    }
  }
}

function answerOf(file: FileFacts | undefined, bytes: Buffer = Buffer.alloc(0)): CommandAnswer {
  return { ok: true, message: "", file, bytes };
}
