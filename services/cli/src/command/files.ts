/** `yao files`: files of a workspace on all of its devices. */

import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";

import { MeshError } from "@mesh/kernel";
import type {
  CopyFileResponse,
  File,
  ListFilesResponse,
  MoveFileResponse,
  ReadFileResponse,
  WriteFileResponse,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print } from "../cli.ts";
import { openDownload } from "../client/download.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { fileErrorText } from "../file-error.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { type FileFlags, filesOf, NODE_FLAG, sizeText } from "./file-place.ts";
import { getCommand } from "./files-get.ts";

interface ListFlags extends FileFlags {
  readonly recursive?: boolean;
  readonly limit?: number;
}

interface PutFlags extends FileFlags {
  readonly new?: boolean;
  readonly ifHash?: string;
}

interface CopyFlags extends FileFlags {
  readonly toNode?: string;
}

const MAX_PUT_BYTES = 32 * 1024 * 1024;
const PAGE = 1_000;
const SLOW_MS = 600_000;
const MAX_CAT_JSON_BYTES = 524_288;

/** The group. */
export function filesCommand(builder: Builder): Command {
  return group("files", "List, read, write and copy files of a workspace on all devices.", [
    listCommand(builder),
    findCommand(builder),
    catCommand(builder),
    getCommand(builder),
    putCommand(builder),
    removeCommand(builder),
    moveCommand(builder),
    copyCommand(builder),
  ]);
}

function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "ls [path]",
    text: "List a directory on all devices, those that are off included.",
    examples: ["yao files ls", "yao files ls docs --recursive", "yao files ls --node laptop --json"],
    flags: [
      { flags: "-r, --recursive", text: "with all below it" },
      { flags: "--node <name>", text: "only this device" },
      { flags: "--limit <n>", text: "most entries (default: 10000)", parse: whole(1, 100_000) },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const query = { path: args[0], node: flags.node, recursive: flags.recursive === true ? "true" : undefined };
      const files = await allFiles(cli, flags, query);
      print(cli, flags, { files }, () => filesText(files, "no files here; write one with: yao files put FILE"));
      return undefined;
    },
  });
}

function findCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "find <words...>",
    text: "Find files by words of their path, on all devices.",
    examples: ["yao files find report", "yao files find invoice 2026 --node laptop"],
    flags: [
      { flags: "--node <name>", text: "only this device" },
      { flags: "--limit <n>", text: "most entries (default: 10000)", parse: whole(1, 100_000) },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const files = await allFiles(cli, flags, { query: args.join(" "), node: flags.node });
      print(cli, flags, { files }, () => filesText(files, "no file has all of these words in its path"));
      return undefined;
    },
  });
}

async function allFiles(
  cli: Cli,
  flags: ListFlags,
  query: Readonly<Record<string, string | undefined>>,
): Promise<readonly File[]> {
  const { client, path } = filesOf(cli, flags);
  const limit = flags.limit ?? 10_000;
  const files: File[] = [];
  for (let cursor = ""; ;) {
    const page = await client.get<ListFilesResponse>(path, {
      query: { ...query, cursor, limit: Math.min(PAGE, limit - files.length) },
    });
    files.push(...page.files);
    cursor = page.next_cursor;
    if (cursor === "" || files.length >= limit) return files;
  }
}

function filesText(files: readonly File[], empty: string): string {
  return table(
    files,
    [
      { title: "path", value: (file) => (file.is_directory ? `${file.path}/` : file.path) },
      { title: "size", value: (file) => (file.is_directory ? undefined : sizeText(file.size_bytes)) },
      { title: "changed", value: (file) => (file.is_directory ? undefined : file.modified_at) },
      { title: "device", value: (file) => file.node },
      { title: "state", value: (file) => (file.online ? "online" : `off since ${file.offline_since ?? "ever"}`) },
    ],
    empty,
  );
}

function catCommand(builder: Builder): Command {
  return leaf<FileFlags>(builder, {
    name: "cat <path>",
    text: "Print a file; with --json its first 512 KB as base64.",
    examples: ["yao files cat docs/report.md", "yao files cat data.csv --node laptop | head"],
    flags: [NODE_FLAG, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const { client, path } = filesOf(cli, flags);
      const query = { path: args[0], node: flags.node };
      if (flags.json === true) {
        const part = await client.get<ReadFileResponse>(`${path}/part`, {
          query: { ...query, limit: MAX_CAT_JSON_BYTES },
        });
        print(cli, flags, part, () => "");
        return undefined;
      }
      const { parts } = await openDownload(cli, client, `${path}/content`, query);
      for await (const part of parts) {
        await cli.terminal.outBytes(part);
        if (cli.terminal.closed.aborted) break;
      }
      return undefined;
    },
  });
}

function putCommand(builder: Builder): Command {
  return leaf<PutFlags>(builder, {
    name: "put <file> [path]",
    text: "Write a file of this device, or - for the standard input, to a device of the workspace.",
    examples: ["yao files put report.md docs/report.md", "date | yao files put - docs/today.txt --node laptop"],
    flags: [
      { flags: "--node <name>", text: "device (default: the one that has the file, or the only one that is on)" },
      { flags: "--new", text: "only when there is no such file yet" },
      { flags: "--if-hash <hash>", text: "only when the file has this hash now, as `yao files ls --json` shows it" },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const [source = "", to = source === "-" ? undefined : basename(source)] = args;
      if (to === undefined) throw new InvalidArgumentError("name the path to write the standard input to");
      const bytes = source === "-" ? await cli.terminal.readBytes(MAX_PUT_BYTES) : await localFile(source);
      const { client, path } = filesOf(cli, flags);
      cli.terminal.progress(`sending ${sizeText(bytes.length)} to ${to}`);
      const ifHash = flags.new === true ? "none" : flags.ifHash;
      const answer = await client.put<WriteFileResponse>(`${path}/content`, {
        query: { path: to, node: flags.node, if_hash: ifHash },
        bytes,
        timeoutMs: SLOW_MS,
      });
      print(cli, flags, answer, () => `${placeText(answer.file)} written, ${sizeText(bytes.length)}\n`);
      return undefined;
    },
  });
}

async function localFile(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > MAX_PUT_BYTES) {
      throw new MeshError("resource_exhausted", `${path} has ${sizeText(size)}; at most 32 MB are written in one call`);
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw new MeshError("not_found", `${path} cannot be read: ${fileErrorText(error)}`, { cause: error });
  }
}

function removeCommand(builder: Builder): Command {
  return leaf<FileFlags>(builder, {
    name: "rm <paths...>",
    text: "Delete files, or empty directories, on their device.",
    examples: ["yao files rm data/old.csv", "yao files rm a.txt b.txt --node laptop"],
    flags: [NODE_FLAG, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const { client, path } = filesOf(cli, flags);
      for (const file of args) await client.delete(path, { query: { path: file, node: flags.node } });
      print(cli, flags, { deleted: args }, () => args.map((file) => `${plain(file)} was deleted\n`).join(""));
      return undefined;
    },
  });
}

function moveCommand(builder: Builder): Command {
  return leaf<FileFlags>(builder, {
    name: "mv <path> <to>",
    text: "Rename a file or directory on its device.",
    examples: ["yao files mv draft.md docs/report.md"],
    flags: [NODE_FLAG, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const { client, path } = filesOf(cli, flags);
      const body = { path: args[0], to: args[1], node: flags.node ?? "" };
      const answer = await client.post<MoveFileResponse>(`${path}/move`, { body });
      print(cli, flags, answer, () => `moved to ${placeText(answer.file)}\n`);
      return undefined;
    },
  });
}

function copyCommand(builder: Builder): Command {
  return leaf<CopyFlags>(builder, {
    name: "cp <path> [to]",
    text: "Copy a file to another path, or to another device.",
    examples: ["yao files cp data/big.bin --to-node server", "yao files cp a.md docs/b.md --node laptop"],
    flags: [
      { flags: "--node <name>", text: "device to copy from (default: the one that has the file)" },
      { flags: "--to-node <name>", text: "device to copy to (default: the same)" },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const { client, path } = filesOf(cli, flags);
      const body = { path: args[0], to_path: args[1] ?? "", node: flags.node ?? "", to_node: flags.toNode ?? "" };
      cli.terminal.progress(`copying ${plain(args[0] ?? "")}`);
      const answer = await client.post<CopyFileResponse>(`${path}/copy`, { body, timeoutMs: SLOW_MS });
      print(cli, flags, answer, () => `copied to ${placeText(answer.file)}\n`);
      return undefined;
    },
  });
}

function placeText(file: File | undefined): string {
  return `${plain(file?.path ?? "")} on ${plain(file?.node ?? "")}`;
}
