/** `yao token`: API tokens. */

import type { CreateTokenResponse, ListTokensResponse } from "@mesh/proto";
import type { Command } from "commander";

import { clientOf, type CommonFlags, print } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf, list, seconds, whole } from "../command.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface CreateFlags extends CommonFlags {
  readonly user?: string;
  readonly scope?: readonly string[];
  readonly workspaceId?: readonly string[];
  readonly ttl?: number;
  readonly assistant?: readonly string[];
  readonly rate?: number;
}

/** The group. */
export function tokenCommand(builder: Builder): Command {
  return group("token", "Manage API tokens.", [createCommand(builder), listCommand(builder), revokeCommand(builder)]);
}

function createCommand(builder: Builder): Command {
  return leaf<CreateFlags>(builder, {
    name: "create <name>",
    text: "Make a token and print its secret, once.",
    examples: [
      "yao token create ci --scope read --scope runs --ttl 90d",
      "yao token create ana --user ana",
      "yao token create site --assistant support --rate 60",
    ],
    flags: [
      { flags: "--user <name>", text: "user it acts for; made when unknown (administrators only; default: you)" },
      {
        flags: "--scope <scope>",
        text: "read, runs, tasks, apps, connectors, nodes, workspaces, tokens, files or admin (repeatable; default: yours)",
        parse: list,
      },
      {
        flags: "--workspace-id <id>",
        text: "workspace it is limited to (repeatable; default: all of the user's)",
        parse: list,
      },
      {
        flags: "--assistant <id>",
        text: "assistant it may run and see, with the scopes read and runs only (repeatable; default: all)",
        parse: list,
      },
      {
        flags: "--rate <number>",
        text: "requests a minute (default: as many as every token)",
        parse: whole(1, 1_000_000),
      },
      { flags: "--ttl <duration>", text: "how long it is valid (default: for ever)", parse: seconds },
    ],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).post<CreateTokenResponse>("/v1/tokens", {
        body: {
          name: args[0] ?? "",
          user: flags.user ?? "",
          scopes: flags.scope ?? [],
          workspace_ids: flags.workspaceId ?? [],
          ttl_seconds: flags.ttl ?? 0,
          assistants: flags.assistant ?? [],
          rate_per_minute: flags.rate ?? 0,
        },
      });
      print(cli, flags, answer, () => `${plain(answer.secret)}\n`);
      cli.terminal.progress("keep it now: it is not shown again");
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "list",
    text: "List tokens, without their secrets.",
    examples: ["yao token list"],
    action: async (cli, _args, flags) => {
      const answer = await clientOf(cli, flags).get<ListTokensResponse>("/v1/tokens");
      print(cli, flags, answer, () =>
        table(
          answer.tokens,
          [
            { title: "token", value: (token) => token.id },
            { title: "name", value: (token) => token.name },
            { title: "user", value: (token) => token.user },
            { title: "scopes", value: (token) => token.scopes.join(" ") },
            { title: "expires", value: (token) => token.expires_at },
            { title: "last used", value: (token) => token.last_used_at },
          ],
          "no tokens",
        ),
      );
      return undefined;
    },
  });
}

function revokeCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "revoke <token>",
    text: "Make a token useless, by its id.",
    examples: ["yao token revoke tok_01j8x5k2m3n4p5q6r7s8t9v0w1"],
    action: async (cli, args, flags) => {
      const token = args[0] ?? "";
      await clientOf(cli, flags).delete(apiPath`/v1/tokens/${token}`);
      print(cli, flags, { revoked: token }, () => `${plain(token)} was revoked\n`);
      return undefined;
    },
  });
}
