/** What every command gets: the terminal, time, the environment, and the coordinator it is logged in to. */

import type { Clock, Ids } from "@mesh/kernel";

import { LOCAL_URL, parseAddress } from "./client/address.ts";
import { Client } from "./client/client.ts";
import { type Credential, readCredential } from "./client/credential.ts";
import { type CliOptions, type Environment, homeDirectory } from "./config.ts";
import type { Interrupts } from "./terminal/interrupt.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The surroundings of a command. */
export interface Cli {
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly options: CliOptions;
  /** The whole environment, for the processes a command starts and the secrets it is told to read. */
  readonly env: Environment;
  /** How this command was started, to start it again in the background. */
  readonly self: SelfProcess;
}

/** This process, as far as commands need it. */
export interface SelfProcess {
  readonly execPath: string;
  readonly execArgv: readonly string[];
  /** Path of the `yao` entry point. */
  readonly script: string;
  /** Tells the process that started this one, if it listens. */
  readonly tellParent: ((message: object) => void) | undefined;
}

/** Options every command has. */
export interface CommonFlags {
  readonly json?: boolean;
  readonly data?: string;
}

/** Flags of commands that work in a workspace. */
export interface WorkspaceFlags extends CommonFlags {
  readonly workspace?: string;
}

/** Who a command talks to, after flags, environment and credential file. */
export interface Target {
  readonly url: string;
  readonly token: string | undefined;
  readonly workspace: string;
}

/** Resolves the coordinator, the token and the workspace. A stored token is used only with the address it is for. */
export function targetOf(cli: Cli, flags: WorkspaceFlags): Target {
  const stored = readCredential(homeDirectory(flags.data, cli.options));
  const url = parseAddress(cli.options.url ?? stored?.url ?? LOCAL_URL);
  return {
    url,
    token: cli.options.token ?? (isFor(stored, url) ? stored?.token : undefined),
    workspace:
      flags.workspace ?? cli.options.workspace ?? (isFor(stored, url) ? stored?.workspace : undefined) ?? "default",
  };
}

/** A client for {@link targetOf}. */
export function clientOf(cli: Cli, flags: CommonFlags): Client {
  return new Client(cli.clock, targetOf(cli, flags));
}

/** Prints the one JSON document of a command. */
export function printJson(cli: Cli, value: object): void {
  cli.terminal.out(`${JSON.stringify(value, null, cli.terminal.isTty ? 2 : 0)}\n`);
}

/** Prints a document for programs or text for people. */
export function print(cli: Cli, flags: CommonFlags, value: object, text: () => string): void {
  if (flags.json === true) printJson(cli, value);
  else cli.terminal.out(text());
}

function isFor(stored: Credential | undefined, url: string): boolean {
  return stored !== undefined && parseAddress(stored.url) === url;
}
