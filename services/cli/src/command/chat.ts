/** `yao chat`: conversations with an assistant. What was said is kept by the coordinator, for the one who said it. */

import type { DeleteChatResponse, ListChatsResponse } from "@mesh/proto";
import { MeshError } from "@mesh/kernel";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { requestOf, START_FLAGS, type StartFlags, startRun } from "../run/start-run.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { showCommand } from "./chat-show.ts";

interface PageFlags extends WorkspaceFlags {
  readonly limit?: number;
  readonly cursor?: string;
}

interface TalkFlags extends WorkspaceFlags, StartFlags {
  readonly chat?: string;
  readonly last?: boolean;
}

const PAGE = 200;
const WAITING_EXIT_CODE = 3;
const CLOSED_EXIT_CODE = 141;

/** The group; what follows `chat` and is none of its commands is an assistant to talk with. */
export function chatCommand(builder: Builder): Command {
  const commands = [talkCommand(builder), listCommand(builder), showCommand(builder), removeCommand(builder)];
  const text = "Talk with an assistant that knows what was said before: yao chat ASSISTANT.";
  return group("chat", text, commands, true);
}

function talkCommand(builder: Builder): Command {
  return leaf<TalkFlags>(builder, {
    name: "with <assistant> [text]",
    text:
      "Talk with an assistant; the word `with` may be left out. With a text (or @FILE, or - for standard input) it says that " +
      "and ends with the exit codes of `yao run`; without one it asks for a line after the other until the end of the input. " +
      "Ctrl-C stops an answer.",
    examples: [
      "yao chat hello",
      'yao chat hello "My name is Ann" --chat ann',
      'yao chat hello "What is my name?" --last',
    ],
    flags: [
      {
        flags: "--chat <id>",
        text: "go on with this chat, or begin it; the id is yours to choose (default: a new one)",
      },
      { flags: "--last", text: "go on with your newest chat with this assistant" },
      WORKSPACE_FLAG,
      ...START_FLAGS,
    ],
    action: talk,
  });
}

async function talk(cli: Cli, [assistant = "", given]: readonly string[], flags: TalkFlags): Promise<number> {
  const isJson = flags.json === true;
  if (flags.chat !== undefined && flags.last === true) throw new InvalidArgumentError("choose --chat or --last.");
  if (given === undefined && (isJson || !cli.terminal.canAsk)) {
    throw new InvalidArgumentError("say a text, or - for standard input: only people at a terminal are asked for one.");
  }
  const target = targetOf(cli, flags);
  const client = new Client(cli.clock, target);
  const chat = flags.chat ?? (flags.last === true ? await lastChat(client, target.workspace, assistant) : undefined);
  const id = chat ?? cli.ids.next("chat");
  const say = (text: string): Promise<number> =>
    startRun(cli, {
      client,
      workspace: target.workspace,
      request: { ...requestOf(assistant, text, flags), chat: id },
      isJson,
      isDetached: false,
    });
  if (!isJson) cli.terminal.progress(`${id}: go on later with \`yao chat ${assistant} --chat ${id}\``);
  return given === undefined ? await converse(cli, say) : await say(await givenText(cli, given, MAX_INPUT_BYTES));
}

/** Line after line, until the input ends or nobody reads any more. A run that failed or was stopped ends no conversation. */
async function converse(cli: Cli, say: (text: string) => Promise<number>): Promise<number> {
  for (;;) {
    const line = await cli.terminal.askLine("> ", cli.terminal.closed);
    if (line === undefined) return cli.terminal.closed.aborted ? CLOSED_EXIT_CODE : 0;
    if (line.trim() === "") continue;
    const code = await say(line);
    if (code === WAITING_EXIT_CODE || code === CLOSED_EXIT_CODE) return code;
  }
}

async function lastChat(client: Client, workspace: string, assistant: string): Promise<string> {
  const { chats } = await listChats(client, workspace, { limit: PAGE });
  const found = chats.find((chat) => chat.assistant === assistant);
  if (found !== undefined) return found.id;
  throw new MeshError("not_found", `you have no chat with ${assistant} among your newest ${PAGE} — leave --last out`);
}

function listCommand(builder: Builder): Command {
  return leaf<PageFlags>(builder, {
    name: "list",
    text: "List your chats, the one spoken in last first.",
    examples: ["yao chat list", "yao chat list --limit 10"],
    flags: [
      WORKSPACE_FLAG,
      { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, PAGE) },
      { flags: "--cursor <text>", text: "go on where an earlier list ended" },
    ],
    action: async (cli, _args, flags) => {
      const target = targetOf(cli, flags);
      const answer = await listChats(new Client(cli.clock, target), target.workspace, flags);
      print(cli, flags, answer, () => chatsText(answer));
      return undefined;
    },
  });
}

function chatsText(answer: ListChatsResponse): string {
  const text = table(
    answer.chats,
    [
      { title: "chat", value: (chat) => chat.id },
      { title: "assistant", value: (chat) => chat.assistant },
      { title: "messages", value: (chat) => chat.messages },
      { title: "last", value: (chat) => chat.updated_at },
    ],
    "no chats; begin one with `yao chat hello`",
  );
  return answer.next_cursor === "" ? text : `${text}more: yao chat list --cursor ${plain(answer.next_cursor)}\n`;
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <chat>",
    text: "Forget what was said in a chat; its runs stay.",
    examples: ["yao chat remove chat_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, [id = ""], flags) => {
      const target = targetOf(cli, flags);
      const path = apiPath`/v1/workspaces/${target.workspace}/chats/${id}`;
      await new Client(cli.clock, target).delete<DeleteChatResponse>(path);
      print(cli, flags, { removed: id }, () => `${plain(id)} was forgotten\n`);
      return undefined;
    },
  });
}

async function listChats(
  client: Client,
  workspace: string,
  { limit, cursor }: Pick<PageFlags, "limit" | "cursor">,
): Promise<ListChatsResponse> {
  return await client.get<ListChatsResponse>(apiPath`/v1/workspaces/${workspace}/chats`, { query: { limit, cursor } });
}
