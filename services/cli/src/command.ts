/** One command as data, turned into commander's form: every command has examples, `--json` and `--data`. */

import { Command, InvalidArgumentError, Option } from "commander";

import { parseDuration } from "@mesh/kernel";

import type { Cli, CommonFlags } from "./cli.ts";

/** A flag: how it is written, what it means, how its text is read. */
export interface FlagRow {
  readonly flags: string;
  readonly text: string;
  /** Throws InvalidArgumentError; gets the value so far, for flags that repeat. */
  readonly parse?: (text: string, previous: unknown) => unknown;
  readonly isHidden?: boolean;
}

/** A command that does something. */
export interface CommandRow<Flags extends CommonFlags> {
  /** Name and arguments, such as `show <node>`. */
  readonly name: string;
  readonly text: string;
  readonly examples: readonly string[];
  readonly flags?: readonly FlagRow[];
  /** Returns the exit code; nothing means 0. */
  readonly action: (
    cli: Cli,
    args: readonly string[],
    flags: Flags,
  ) => Promise<number | undefined> | number | undefined;
}

/** Keeps the exit code of the command that ran. */
export interface ExitCode {
  value: number;
}

/** Where commands are built. */
export interface Builder {
  readonly cli: Cli;
  readonly exit: ExitCode;
}

/** Makes a command from its row. */
export function leaf<Flags extends CommonFlags>(builder: Builder, row: CommandRow<Flags>): Command {
  const [name = "", ...args] = row.name.split(" ");
  const command = new Command(name).description(row.text);
  for (const arg of args) command.argument(arg);
  for (const flag of row.flags ?? []) command.addOption(optionOf(flag));
  command.option("--json", "print JSON for programs");
  command.option("--data <dir>", "data directory of this device (default: $YAO_HOME or ~/.yao)");
  command.addHelpText("after", `\nExamples:\n${row.examples.map((example) => `  $ ${example}`).join("\n")}\n`);
  command.action(async () => {
    try {
      // commander has checked the shape against the rows above; the type of flags is theirs.
      builder.exit.value = (await row.action(builder.cli, command.args, command.opts<Flags>())) ?? 0;
    } catch (error) {
      // Wrong usage that only the action can see is reported like all other wrong usage.
      if (error instanceof InvalidArgumentError) command.error(error.message);
      throw error;
    }
  });
  return command;
}

/**
 * Makes a command that only holds others; `path` is all of its words, such as `node token`. The first of them is meant where no
 * other one is named, if `isFirstDefault`.
 */
export function group(path: string, text: string, commands: readonly Command[], isFirstDefault = false): Command {
  const parent = new Command(path.split(" ").at(-1)).description(text);
  for (const [i, command] of commands.entries()) parent.addCommand(command, { isDefault: isFirstDefault && i === 0 });
  const first = commands[0];
  if (first !== undefined) parent.addHelpText("after", `\nExample:\n  $ yao ${path} ${first.name()} --help\n`);
  return parent;
}

/** `k=v` pairs from a flag that repeats. */
export function pairs(text: string, previous: unknown): Readonly<Record<string, string>> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError(`"${text}" must have the form key=value.`);
  return { ...(previous as Record<string, string> | undefined), [text.slice(0, at)]: text.slice(at + 1) };
}

/** A list from a flag that repeats. */
export function list(text: string, previous: unknown): readonly string[] {
  return [...((previous as readonly string[] | undefined) ?? []), text];
}

/** A whole number within bounds. */
export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(`"${text}" must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** Whole seconds from a duration such as `90s` or `15m`, rounded up. */
export function seconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0) {
    throw new InvalidArgumentError(`"${text}" must be a duration such as 30s, 15m or 2h.`);
  }
  return Math.ceil(ms / 1000);
}

/** The flag of commands that work in a workspace. */
export const WORKSPACE_FLAG: FlagRow = {
  flags: "-w, --workspace <name>",
  text: "workspace (default: $YAO_WORKSPACE, or the one chosen with `yao workspace use`)",
};

function optionOf(row: FlagRow): Option {
  const option = new Option(row.flags, row.text);
  if (row.parse !== undefined) option.argParser(row.parse);
  return row.isHidden === true ? option.hideHelp() : option;
}
