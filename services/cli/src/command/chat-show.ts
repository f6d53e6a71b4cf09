/** `yao chat show`: what was said in a chat. */

import { isObject } from "@mesh/kernel";
import type { ListChatMessagesResponse } from "@mesh/proto";
import type { Command } from "commander";

import { print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { oneLine, plain } from "../terminal/terminal.ts";

interface ShowFlags extends WorkspaceFlags {
  readonly limit?: number;
  readonly cursor?: string;
}

/** The command. */
export function showCommand(builder: Builder): Command {
  return leaf<ShowFlags>(builder, {
    name: "show <chat>",
    text: "Show what was said in a chat last, in the order in which it was said.",
    examples: ["yao chat show ann", "yao chat show ann --limit 200 --json"],
    flags: [
      WORKSPACE_FLAG,
      { flags: "--limit <number>", text: "how many messages (default: 50)", parse: whole(1, 200) },
      { flags: "--cursor <text>", text: "what was said before what an earlier page showed" },
    ],
    action: async (cli, [chat = ""], flags) => {
      const target = targetOf(cli, flags);
      const answer = await new Client(cli.clock, target).get<ListChatMessagesResponse>(
        apiPath`/v1/workspaces/${target.workspace}/chats/${chat}/messages`,
        { query: { limit: flags.limit, cursor: flags.cursor } },
      );
      print(cli, flags, answer, () => messagesText(chat, answer, (text) => cli.terminal.bold(text)));
      return undefined;
    },
  });
}

// The API tells the newest first; people read downwards.
function messagesText(chat: string, answer: ListChatMessagesResponse, bold: (text: string) => string): string {
  const said = answer.messages.toReversed().map(({ message }) => {
    const role = typeof message?.["role"] === "string" ? oneLine(message["role"]) : "?";
    return `${bold(`${role}:`)} ${plain(textOf(message)).trimEnd()}\n`;
  });
  const text = said.length === 0 ? "nothing was said yet\n" : said.join("");
  if (answer.next_cursor === "") return text;
  return `earlier: yao chat show ${plain(chat)} --cursor ${plain(answer.next_cursor)}\n${text}`;
}

// In the form of Chat Completions: a text, or parts of which some are texts; calls of tools stand beside it.
function textOf(message: unknown): string {
  if (!isObject(message)) return "";
  const { content, tool_calls: calls } = message;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => {
    if (typeof part === "string") return part;
    if (!isObject(part)) return "";
    return typeof part["text"] === "string" ? part["text"] : `[${String(part["type"])}]`;
  });
  const named = (Array.isArray(calls) ? (calls as readonly unknown[]) : []).flatMap((call) => {
    const called = isObject(call) ? call["function"] : undefined;
    return isObject(called) && typeof called["name"] === "string" ? [`[${called["name"]}]`] : [];
  });
  return [...texts, ...named].filter((text) => text !== "").join(" ");
}
