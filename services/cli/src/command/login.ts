/** `yao login`, `logout` and `whoami`. */

import type { WhoAmIResponse } from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf } from "../cli.ts";
import { isCleartext, parseAddress } from "../client/address.ts";
import { Client } from "../client/client.ts";
import { readCredential, removeCredential, writeCredential } from "../client/credential.ts";
import { type Builder, leaf } from "../command.ts";
import { homeDirectory } from "../config.ts";
import { readSecret } from "../terminal/secret.ts";
import { fields } from "../terminal/table.ts";

interface LoginFlags extends CommonFlags {
  readonly token?: string;
  readonly tokenFile?: string;
}

/** `yao login`. */
export function loginCommand(builder: Builder): Command {
  return leaf<LoginFlags>(builder, {
    name: "login <url>",
    text: "Remember a coordinator and a token for it, after trying them.",
    examples: [
      "yao login https://mesh.example.com",
      "yao login https://mesh.example.com --token-file ./token",
      "pass show mesh | yao login https://mesh.example.com --token -",
    ],
    flags: [
      { flags: "--token <token>", text: "the token; - reads standard input; asked for when absent" },
      { flags: "--token-file <path>", text: "file that holds the token" },
    ],
    action: login,
  });
}

async function login(cli: Cli, args: readonly string[], flags: LoginFlags): Promise<undefined> {
  const url = parseAddress(args[0] ?? "");
  const token = await readSecret(
    { terminal: cli.terminal, env: cli.env },
    {
      what: "the token",
      question: `token for ${url}: `,
      ...(flags.token === "-" ? { isStdin: true } : {}),
      ...(flags.token === undefined || flags.token === "-" ? {} : { value: flags.token }),
      ...(flags.tokenFile === undefined ? {} : { file: flags.tokenFile }),
      advice: "give it with --token, --token-file PATH, or --token - and standard input",
    },
  );
  if (isCleartext(url))
    cli.terminal.err("warning: this address is not encrypted; anybody on the way can read the token\n");
  const me = await new Client(cli.clock, { url, token }).get<WhoAmIResponse>("/v1/whoami");
  const home = homeDirectory(flags.data, cli.options);
  const before = readCredential(home);
  const workspace = before?.url === url ? before.workspace : undefined;
  writeCredential(home, { url, token, ...(workspace === undefined ? {} : { workspace }) });
  print(cli, flags, { url, ...me }, () => `logged in at ${url} as ${me.user}\n`);
  return undefined;
}

/** `yao logout`. */
export function logoutCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "logout",
    text: "Forget the coordinator and its token. The token itself stays valid; revoke it with `yao token revoke`.",
    examples: ["yao logout"],
    action: (cli, _args, flags) => {
      const home = homeDirectory(flags.data, cli.options);
      const before = readCredential(home);
      removeCredential(home);
      print(cli, flags, { url: before?.url ?? null }, () =>
        before === undefined ? "was not logged in\n" : `logged out of ${before.url}\n`,
      );
      return undefined;
    },
  });
}

/** `yao whoami`. */
export function whoamiCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "whoami",
    text: "Show the coordinator, the user and what the token may do.",
    examples: ["yao whoami", "yao whoami --json"],
    action: async (cli, _args, flags) => {
      const { url, workspace } = targetOf(cli, flags);
      const me = await clientOf(cli, flags).get<WhoAmIResponse>("/v1/whoami");
      print(cli, flags, { url, workspace, ...me }, () =>
        fields([
          ["coordinator", url],
          ["user", me.user],
          ["admin", me.is_admin],
          ["workspace", workspace],
          ["scopes", me.scopes.join(", ")],
          ["limited to workspaces", me.workspace_ids.join(", ")],
          ["token", me.token_id],
        ]),
      );
      return undefined;
    },
  });
}
