/** `yao files get`: a file of the workspace becomes a file here, whole or not at all. */

import { createHash, randomUUID } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { MeshError } from "@mesh/kernel";
import type { Command } from "commander";

import { type Cli, print } from "../cli.ts";
import { type Download, openDownload } from "../client/download.ts";
import { type Builder, leaf, WORKSPACE_FLAG } from "../command.ts";
import { fileErrorText } from "../file-error.ts";
import { plain } from "../terminal/terminal.ts";
import { type FileFlags, filesOf, NODE_FLAG, sizeText } from "./file-place.ts";

interface GetFlags extends FileFlags {
  readonly force?: boolean;
}

const TOLD_BYTES = 8 * 1024 * 1024;

/** The command. */
export function getCommand(builder: Builder): Command {
  return leaf<GetFlags>(builder, {
    name: "get <path> [file]",
    text: "Copy a file to this device, or to the standard output with -.",
    examples: [
      "yao files get docs/report.md",
      "yao files get data/big.bin /tmp/big.bin --force",
      "yao files get a.tar - | tar x",
    ],
    flags: [{ flags: "--force", text: "replace the file here" }, NODE_FLAG, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const [path = "", wanted = basename(path)] = args;
      const { client, path: files } = filesOf(cli, flags);
      const target = wanted === "-" ? "-" : targetFile(wanted, basename(path), flags.force === true);
      const download = await openDownload(cli, client, `${files}/content`, { path, node: flags.node });
      if (target === "-") {
        for await (const part of verified(cli, path, download)) await cli.terminal.outBytes(part);
        return undefined;
      }
      await save(target, verified(cli, path, download));
      print(cli, flags, { path, file: target, size_bytes: download.size, hash: download.hash }, () => {
        return `${plain(target)} written, ${sizeText(download.size)}\n`;
      });
      return undefined;
    },
  });
}

function targetFile(wanted: string, name: string, isForced: boolean): string {
  const target = existsSync(wanted) && statSync(wanted).isDirectory() ? join(wanted, name) : wanted;
  if (isForced || !existsSync(target)) return target;
  throw new MeshError("already_exists", `there is a ${target} already — replace it with --force, or name another file`);
}

/** The parts as they come; the last one only when all of them are what the device has. */
async function* verified(cli: Cli, path: string, { size, hash, parts }: Download): AsyncGenerator<Uint8Array> {
  const sum = createHash("sha256");
  let got = 0;
  let toldAt = TOLD_BYTES;
  let held: Uint8Array | undefined;
  for await (const part of parts) {
    if (held !== undefined) yield held;
    held = part;
    sum.update(part);
    got += part.byteLength;
    if (got < toldAt) continue;
    toldAt = got + TOLD_BYTES;
    cli.terminal.progress(`${sizeText(got)} of ${sizeText(size)}`);
  }
  if (hash !== "" && sum.digest("hex") !== hash) {
    throw new MeshError("data_loss", `${path} was damaged on its way, or changed meanwhile — get it again`);
  }
  if (held !== undefined) yield held;
}

async function save(target: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = join(dirname(target), `.${basename(target).slice(0, 100)}.${randomUUID()}.tmp`);
  let file: FileHandle | undefined;
  try {
    file = await open(draft, "wx");
    for await (const part of parts) await file.writeFile(part);
    await file.close();
    await rename(draft, target);
  } catch (error) {
    await file?.close().catch(() => undefined);
    await rm(draft, { force: true });
    if (error instanceof MeshError) throw error;
    throw new MeshError("failed_precondition", `${target} cannot be written: ${fileErrorText(error)}`, {
      cause: error,
    });
  }
}
