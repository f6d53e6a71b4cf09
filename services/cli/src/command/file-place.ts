/** Where the commands on files find them. */

import { type Cli, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import type { FlagRow } from "../command.ts";

/** Flags of commands on one file. */
export interface FileFlags extends WorkspaceFlags {
  readonly node?: string;
}

/** The flag that chooses a device. */
export const NODE_FLAG: FlagRow = { flags: "--node <name>", text: "device (default: the one that has the file)" };

/** The client and the address of the files of the workspace in use. */
export function filesOf(cli: Cli, flags: WorkspaceFlags): { readonly client: Client; readonly path: string } {
  const target = targetOf(cli, flags);
  return { client: new Client(cli.clock, target), path: apiPath`/v1/workspaces/${target.workspace}/files` };
}

/** A size for people. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
