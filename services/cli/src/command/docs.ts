/** `yao docs`: the documents of a workspace. */

import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";

import { MeshError } from "@mesh/kernel";
import type {
  Document,
  GetDocumentResponse,
  ListDocumentsResponse,
  ReindexDocumentResponse,
  SearchDocumentsResponse,
  UploadDocumentResponse,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { fileErrorText } from "../file-error.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface ListFlags extends WorkspaceFlags {
  readonly limit?: number;
}

interface ShowFlags extends CommonFlags {
  readonly info?: boolean;
}

interface AddFlags extends WorkspaceFlags {
  readonly name?: string;
}

const PAGE = 200;
const MAX_ADD_BYTES = 32 * 1024 * 1024;
const SEND_MS = 300_000;

/** The group. */
export function docsCommand(builder: Builder): Command {
  return group("docs", "Search and manage the documents of a workspace.", [
    listCommand(builder),
    searchCommand(builder),
    showCommand(builder),
    addCommand(builder),
    removeCommand(builder),
    reindexCommand(builder),
  ]);
}

function documentsOf(cli: Cli, flags: WorkspaceFlags): { readonly client: Client; readonly path: string } {
  const target = targetOf(cli, flags);
  return { client: new Client(cli.clock, target), path: apiPath`/v1/workspaces/${target.workspace}/documents` };
}

function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "list",
    text: "List the documents: what runs wrote under docs/, and what was added.",
    examples: ["yao docs list", "yao docs list --limit 20 --json"],
    flags: [{ flags: "--limit <n>", text: "most documents (default: 1000)", parse: whole(1, 100_000) }, WORKSPACE_FLAG],
    action: async (cli, _args, flags) => {
      const { client, path } = documentsOf(cli, flags);
      const limit = flags.limit ?? 1_000;
      const documents: Document[] = [];
      for (let cursor = ""; ;) {
        const query = { cursor, limit: Math.min(PAGE, limit - documents.length) };
        const page = await client.get<ListDocumentsResponse>(path, { query });
        documents.push(...page.documents);
        cursor = page.next_cursor;
        if (cursor === "" || documents.length >= limit) break;
      }
      print(cli, flags, { documents }, () => documentsText(documents));
      return undefined;
    },
  });
}

function documentsText(documents: readonly Document[]): string {
  return table(
    documents,
    [
      { title: "document", value: (row) => row.id },
      { title: "title", value: (row) => row.title },
      { title: "path", value: (row) => row.path },
      { title: "version", value: (row) => row.version },
      { title: "state", value: (row) => (row.status === "failed" ? `failed: ${row.reason}` : row.status) },
      { title: "device", value: deviceText },
      { title: "changed", value: (row) => row.updated_at },
    ],
    "no documents yet; add one with `yao docs add FILE`",
  );
}

function deviceText({ node, online, offline_since: since }: Document): string | undefined {
  return node === undefined || online ? node : `${node}, off since ${since ?? "ever"}`;
}

function searchCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "search <words...>",
    text: "Find passages by words, the best first.",
    examples: ["yao docs search quay wall", "yao docs search 潮位 --limit 3"],
    flags: [{ flags: "--limit <n>", text: "most passages (default: 10)", parse: whole(1, 50) }, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const { client, path } = documentsOf(cli, flags);
      const query = { query: args.join(" "), limit: flags.limit };
      const answer = await client.get<SearchDocumentsResponse>(`${path}/search`, { query });
      print(cli, flags, answer, () => hitsText(cli, answer));
      return undefined;
    },
  });
}

function hitsText(cli: Cli, { hits }: SearchDocumentsResponse): string {
  if (hits.length === 0) return "nothing was found\n";
  return hits
    .map(({ document, snippet, line_from: from, line_to: to }) => {
      const lines = from === to ? `line ${from}` : `lines ${from}-${to}`;
      const head = `${document?.title ?? ""} — ${document?.path ?? ""}, ${lines} (${document?.id ?? ""})`;
      const text = plain(snippet).replaceAll(/\uE000([^\uE001]*)\uE001/g, (_mark, words: string) =>
        cli.terminal.bold(words),
      );
      return `${cli.terminal.bold(plain(head))}\n  ${text.replaceAll(/\s*\n\s*/g, "\n  ")}\n`;
    })
    .join("\n");
}

function showCommand(builder: Builder): Command {
  return leaf<ShowFlags>(builder, {
    name: "show <document>",
    text: "Print the last known text of a document, also while its device is off; its facts with --info.",
    examples: ["yao docs show doc_01k…", "yao docs show doc_01k… --info"],
    flags: [{ flags: "--info", text: "where it comes from and its versions, instead of its text" }],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).get<GetDocumentResponse>(apiPath`/v1/documents/${args[0] ?? ""}`);
      if (flags.info !== true && flags.json !== true) {
        const { document } = answer;
        if (document?.status === "failed")
          throw new MeshError("failed_precondition", `it has no text: ${document.reason}`);
        if (answer.text_cut) cli.terminal.progress("the text is cut; get the file itself for all of it");
      }
      print(cli, flags, answer, () => (flags.info === true ? infoText(answer) : withEnd(plain(answer.text))));
      return undefined;
    },
  });
}

function infoText({ document, versions }: GetDocumentResponse): string {
  const head = fields([
    ["document", document?.id],
    ["title", document?.title],
    ["path", document?.path],
    ["source", document?.source],
    ["state", document?.status],
    ["reason", document?.reason],
    ["device", document === undefined ? undefined : deviceText(document)],
    ["task", document?.task_key ?? document?.task_id],
    ["run", document?.run_id],
    ["by", document?.created_by],
    ["changed", document?.updated_at],
  ]);
  const history = table(
    versions,
    [
      { title: "version", value: (version) => version.version },
      { title: "hash", value: (version) => version.hash.slice(0, 12) },
      { title: "at", value: (version) => version.at },
      { title: "run", value: (version) => version.run_id },
      { title: "device", value: (version) => version.node },
    ],
    "no versions",
  );
  return `${head}\n${history}`;
}

function withEnd(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function addCommand(builder: Builder): Command {
  return leaf<AddFlags>(builder, {
    name: "add <file>",
    text: "Add a file as a document, or - for the standard input; one of the same name gets a new version.",
    examples: ["yao docs add handbook.pdf", "curl -s https://example.org/notes.md | yao docs add - --name notes.md"],
    flags: [{ flags: "--name <name>", text: "name of the document (default: that of the file)" }, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const [source = ""] = args;
      const name = flags.name ?? (source === "-" ? undefined : basename(source));
      if (name === undefined) throw new InvalidArgumentError("name the document with --name.");
      const bytes = source === "-" ? await cli.terminal.readBytes(MAX_ADD_BYTES) : await localFile(source);
      const { client, path } = documentsOf(cli, flags);
      const answer = await client.post<UploadDocumentResponse>(path, { query: { name }, bytes, timeoutMs: SEND_MS });
      const { document } = answer;
      print(
        cli,
        flags,
        answer,
        () => `${plain(name)} added as ${document?.id ?? ""}, version ${document?.version ?? 1}\n`,
      );
      return undefined;
    },
  });
}

async function localFile(path: string): Promise<Buffer> {
  try {
    if ((await stat(path)).size > MAX_ADD_BYTES) {
      throw new MeshError("resource_exhausted", `${path} is larger than 32 MB, the most for a document`);
    }
    return await readFile(path);
  } catch (error) {
    if (error instanceof MeshError) throw error;
    throw new MeshError("not_found", `${path} cannot be read: ${fileErrorText(error)}`, { cause: error });
  }
}

function removeCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "remove <document>",
    text: "Remove a document with its text and versions; a file on a device stays.",
    examples: ["yao docs remove doc_01k…"],
    action: async (cli, args, flags) => {
      const id = args[0] ?? "";
      await clientOf(cli, flags).delete(apiPath`/v1/documents/${id}`);
      print(cli, flags, { removed: id }, () => `${plain(id)} was removed\n`);
      return undefined;
    },
  });
}

function reindexCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "reindex <document>",
    text: "Read the text of a document again.",
    examples: ["yao docs reindex doc_01k…"],
    action: async (cli, args, flags) => {
      const id = args[0] ?? "";
      const answer = await clientOf(cli, flags).post<ReindexDocumentResponse>(apiPath`/v1/documents/${id}/reindex`);
      print(cli, flags, answer, () => `${plain(id)} is being read again\n`);
      return undefined;
    },
  });
}
