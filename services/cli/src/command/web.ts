/** `yao web`: a link that logs a browser in, opened on a desktop. */

import { spawn } from "node:child_process";

import type { CreateLoginCodeResponse } from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf } from "../cli.ts";
import { type Builder, leaf, seconds } from "../command.ts";
import { plain } from "../terminal/terminal.ts";

interface WebFlags extends CommonFlags {
  readonly open: boolean;
  readonly ttl?: number;
}

/** `yao web`, also as `yao open`. */
export function webCommand(builder: Builder, name: "web" | "open" = "web"): Command {
  return leaf<WebFlags>(builder, {
    name,
    text: "Open the web page, logged in as you. The link works once and for ten minutes.",
    examples: [`yao ${name}`, `yao ${name} --no-open`, `yao ${name} --json`],
    flags: [
      { flags: "--no-open", text: "print the link only" },
      { flags: "--ttl <duration>", text: "how long the link works unused, at most 24h (default: 10m)", parse: seconds },
    ],
    action: web,
  });
}

async function web(cli: Cli, _args: readonly string[], flags: WebFlags): Promise<undefined> {
  const answer = await clientOf(cli, flags).post<CreateLoginCodeResponse>("/v1/login-codes", {
    body: { ttl_seconds: flags.ttl ?? 0 },
  });
  const url = reachableUrl(answer.url, targetOf(cli, flags).url);
  print(cli, flags, { ...answer, url }, () => `Open  ${plain(url)}\n`);
  const program = flags.open && flags.json !== true && cli.terminal.isTty ? opener(cli.env) : undefined;
  if (program !== undefined) open(program, url);
  return undefined;
}

/** The page at the address this device reaches the coordinator by: what it calls itself may be of use only to itself. */
function reachableUrl(url: string, ownUrl: string): string {
  return `${ownUrl}/${new URL(url).hash}`;
}

/** What opens an address on this desktop; undefined where there is none. */
function opener(env: Cli["env"]): readonly [command: string, ...args: string[]] | undefined {
  switch (process.platform) {
    case "darwin":
      return ["open"];
    case "win32":
      return ["rundll32", "url.dll,FileProtocolHandler"];
    default: {
      const hasScreen = (env["DISPLAY"] ?? "") !== "" || (env["WAYLAND_DISPLAY"] ?? "") !== "";
      return hasScreen && (env["SSH_CONNECTION"] ?? "") === "" ? ["xdg-open"] : undefined;
    }
  }
}

// The link is printed already: a desktop without a browser is no failure.
function open([command, ...args]: readonly [string, ...string[]], url: string): void {
  const child = spawn(command, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
