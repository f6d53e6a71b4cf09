/** `yao login`, `logout` and `whoami`. */

import { errorText, MeshError } from "@mesh/kernel";
import type { WhoAmIResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf } from "../cli.ts";
import { isCleartext, parseAddress } from "../client/address.ts";
import { Client } from "../client/client.ts";
import { readCredential, removeCredential, writeCredential } from "../client/credential.ts";
import { type Builder, leaf } from "../command.ts";
import { homeDirectory } from "../config.ts";
import { readSecret } from "../terminal/secret.ts";
import { fields } from "../terminal/table.ts";
import { oneLine } from "../terminal/terminal.ts";

/** How the text of a session begins; API tokens begin otherwise. */
const SESSION_PREFIX = "yaos_";

interface LoginFlags extends CommonFlags {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly user?: string;
  readonly passwordFile?: string;
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
      "yao login https://mesh.example.com --user ana",
    ],
    flags: [
      { flags: "--token <token>", text: "the token; - reads standard input; asked for when absent" },
      { flags: "--token-file <path>", text: "file that holds the token" },
      { flags: "--user <name>", text: "log in with a name and a password instead, which is asked for" },
      { flags: "--password-file <path>", text: "file that holds the password; - reads standard input" },
    ],
    action: login,
  });
}

async function login(cli: Cli, args: readonly string[], flags: LoginFlags): Promise<undefined> {
  const url = parseAddress(args[0] ?? "");
  if (isCleartext(url)) {
    cli.terminal.err("warning: this address is not encrypted; anybody on the way can read what you log in with\n");
  }
  const token = flags.user === undefined ? await givenToken(cli, url, flags) : await sessionOf(cli, url, flags);
  const me = await new Client(cli.clock, { url, token }).get<WhoAmIResponse>("/v1/whoami");
  const home = homeDirectory(flags.data, cli.options);
  const before = readCredential(home);
  const workspace = before?.url === url ? before.workspace : undefined;
  writeCredential(home, { url, token, ...(workspace === undefined ? {} : { workspace }) });
  print(cli, flags, { url, ...me }, () => `logged in at ${url} as ${me.user}\n`);
  return undefined;
}

function givenToken(cli: Cli, url: string, flags: LoginFlags): Promise<string> {
  if (flags.passwordFile !== undefined) throw new InvalidArgumentError("--password-file goes with --user.");
  return readSecret(
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
}

/** Logs in with name and password; the session is the token from then on. */
async function sessionOf(cli: Cli, url: string, flags: LoginFlags): Promise<string> {
  const { user = "", passwordFile } = flags;
  if (flags.token !== undefined || flags.tokenFile !== undefined) {
    throw new InvalidArgumentError("give a token or --user, not both.");
  }
  const password = await readSecret(
    { terminal: cli.terminal, env: cli.env },
    {
      what: "the password",
      question: `password of ${user} at ${url}: `,
      ...(passwordFile === "-" ? { isStdin: true } : {}),
      ...(passwordFile === undefined || passwordFile === "-" ? {} : { file: passwordFile }),
      advice: "give it with --password-file PATH, or --password-file - and standard input",
    },
  );
  const client = new Client(cli.clock, { url });
  const response = await client
    .open("POST", "/v1/login", { body: { name: user, password } })
    .catch((error: unknown) => {
      // The client's own advice is to log in.
      if (MeshError.from(error).code !== "unauthenticated") throw error;
      throw new MeshError("unauthenticated", "this name and password do not belong together — try again", {
        cause: error,
      });
    });
  await response.body?.cancel();
  for (const cookie of response.headers.getSetCookie()) {
    const session = /^yao_session=(yaos_[\w-]+);/.exec(cookie)?.[1];
    if (session !== undefined) return session;
  }
  throw new MeshError("unknown", `${url} gave no session — check that this is the address of a coordinator`);
}

/** `yao logout`. */
export function logoutCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "logout",
    text: "Forget the coordinator and its token. A session is ended; a token stays valid, revoke it with `yao token revoke`.",
    examples: ["yao logout"],
    action: async (cli, _args, flags) => {
      const home = homeDirectory(flags.data, cli.options);
      const before = readCredential(home);
      if (before?.token?.startsWith(SESSION_PREFIX) === true) await endSession(cli, before.url, before.token);
      removeCredential(home);
      print(cli, flags, { url: before?.url ?? null }, () =>
        before === undefined ? "was not logged in\n" : `logged out of ${before.url}\n`,
      );
      return undefined;
    },
  });
}

/** Ends a session at the coordinator; one that cannot be reached is told, and the session forgotten here all the same. */
async function endSession(cli: Cli, url: string, token: string): Promise<void> {
  try {
    await new Client(cli.clock, { url, token }).post("/v1/logout", { body: {} });
  } catch (error) {
    if (MeshError.from(error).code === "unauthenticated") return;
    cli.terminal.err(`warning: the session was not ended at ${url}: ${oneLine(errorText(error))}\n`);
  }
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
