/** The tree of commands. Only the group that is asked for is loaded; the others are names and one sentence. */

import { Command, CommanderError } from "commander";

import { MeshError } from "@mesh/kernel";

import type { Cli } from "./cli.ts";
import type { Builder } from "./command.ts";
import { oneLine } from "./terminal/terminal.ts";

interface GroupRow {
  readonly name: string;
  readonly text: string;
  readonly load: (builder: Builder) => Promise<Command>;
}

const GROUPS: readonly GroupRow[] = [
  {
    name: "up",
    text: "start the whole system on this device",
    load: async (b) => (await import("./command/up.ts")).upCommand(b),
  },
  {
    name: "down",
    text: "stop what `yao up` started",
    load: async (b) => (await import("./command/up.ts")).downCommand(b),
  },
  {
    name: "run",
    text: "run an assistant and watch it live",
    load: async (b) => (await import("./command/run.ts")).runCommand(b),
  },
  {
    name: "chat",
    text: "talk with an assistant that knows what was said before",
    load: async (b) => (await import("./command/chat.ts")).chatCommand(b),
  },
  {
    name: "runs",
    text: "list, show, follow, answer, cancel and retry runs",
    load: async (b) => (await import("./command/runs.ts")).runsCommand(b),
  },
  {
    name: "task",
    text: "make, move, run and follow the tasks of the board",
    load: async (b) => (await import("./command/task.ts")).taskCommand(b),
  },
  {
    name: "inbox",
    text: "see what needs you",
    load: async (b) => (await import("./command/inbox.ts")).inboxCommand(b),
  },
  {
    name: "share",
    text: "share tasks and task agents by links",
    load: async (b) => (await import("./command/share.ts")).shareCommand(b),
  },
  {
    name: "node",
    text: "join and manage devices",
    load: async (b) => (await import("./command/node.ts")).nodeCommand(b),
  },
  {
    name: "app",
    text: "push and manage apps of assistants",
    load: async (b) => {
      const { modelChecker, scriptChecker } = await import("./app-check/checker.ts");
      return (await import("./command/app.ts")).appCommand(b, [scriptChecker, modelChecker]);
    },
  },
  {
    name: "agent",
    text: "test assistants, and manage those made of tasks",
    load: async (b) => (await import("./command/agent.ts")).agentCommand(b),
  },
  {
    name: "evals",
    text: "list, follow, cancel and report evals on devices",
    load: async (b) => (await import("./command/evals.ts")).evalsCommand(b),
  },
  {
    name: "mcp",
    text: "list, call and serve the tools of assistants",
    load: async (b) => (await import("./command/mcp.ts")).mcpCommand(b),
  },
  {
    name: "files",
    text: "list, read, write and copy files on all devices",
    load: async (b) => (await import("./command/files.ts")).filesCommand(b),
  },
  {
    name: "docs",
    text: "search and manage the documents of a workspace",
    load: async (b) => (await import("./command/docs.ts")).docsCommand(b),
  },
  {
    name: "connector",
    text: "manage how assistants reach models",
    load: async (b) => (await import("./command/connector.ts")).connectorCommand(b),
  },
  {
    name: "webhook",
    text: "tell other systems what happens",
    load: async (b) => (await import("./command/webhook.ts")).webhookCommand(b),
  },
  {
    name: "workspace",
    text: "manage workspaces",
    load: async (b) => (await import("./command/workspace.ts")).workspaceCommand(b),
  },
  {
    name: "web",
    text: "open the web page, logged in",
    load: async (b) => (await import("./command/web.ts")).webCommand(b),
  },
  {
    name: "open",
    text: "the same as web",
    load: async (b) => (await import("./command/web.ts")).webCommand(b, "open"),
  },
  {
    name: "user",
    text: "manage people",
    load: async (b) => (await import("./command/user.ts")).userCommand(b),
  },
  { name: "token", text: "manage API tokens", load: async (b) => (await import("./command/token.ts")).tokenCommand(b) },
  {
    name: "login",
    text: "log in to a coordinator",
    load: async (b) => (await import("./command/login.ts")).loginCommand(b),
  },
  {
    name: "logout",
    text: "forget the coordinator and its token",
    load: async (b) => (await import("./command/login.ts")).logoutCommand(b),
  },
  {
    name: "whoami",
    text: "show who the token acts for and what it may do",
    load: async (b) => (await import("./command/login.ts")).whoamiCommand(b),
  },
  {
    name: "doctor",
    text: "check this device and its coordinator",
    load: async (b) => (await import("./command/doctor.ts")).doctorCommand(b),
  },
  {
    name: "nats",
    text: "configure a NATS server of your own",
    load: async (b) => (await import("./command/nats.ts")).natsCommand(b),
  },
  {
    name: "version",
    text: "show the version",
    load: async (b) => (await import("./command/version.ts")).versionCommand(b),
  },
];

/** Runs one command line and returns its exit code: 0 success, 1 failure, 2 wrong usage, else what the command says. */
export async function runProgram(cli: Cli, argv: readonly string[]): Promise<number> {
  const builder: Builder = { cli, exit: { value: 0 } };
  try {
    const program = await buildProgram(builder, argv);
    await program.parseAsync(argv, { from: "user" });
    return builder.exit.value;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    return reportFailure(cli, error);
  }
}

async function buildProgram(builder: Builder, argv: readonly string[]): Promise<Command> {
  const program = new Command("yao")
    .description("All your agents and workspaces in one place, on every device you own.")
    .usage("<command> [options]")
    .helpCommand("help [command]", "show help of a command");
  program.addHelpText(
    "after",
    '\nExamples:\n  $ yao up\n  $ yao run hello "Good morning"\n  $ yao node token create\n\nHelp of one command: yao <command> --help\n',
  );
  const words = argv.filter((word) => !word.startsWith("-"));
  const wanted = words[0] === "help" ? words[1] : words[0];
  for (const row of GROUPS) {
    program.addCommand(row.name === wanted ? await row.load(builder) : new Command(row.name).description(row.text));
  }
  if (argv.includes("--version") || argv.includes("-V")) {
    const { packageVersion } = await import("./command/version.ts");
    program.version(packageVersion());
  }
  configure(program, builder.cli);
  if (words.length === 0) program.action(() => program.outputHelp());
  return program;
}

function configure(command: Command, cli: Cli): void {
  command.exitOverride();
  command.configureOutput({
    writeOut: (text) => cli.terminal.out(text),
    writeErr: (text) => cli.terminal.err(text),
    outputError: (text, write) => write(`yao: ${usageText(text)} — see \`${pathOf(command)} --help\`\n`),
  });
  for (const child of command.commands) configure(child, cli);
}

function usageText(text: string): string {
  const withHint = text
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)/s, (_hint, names: string) => {
      return `; did you mean ${names.replaceAll(/[^, ]+/g, "`$&`").replaceAll(", ", " or ")}?`;
    });
  return oneLine(withHint).replace(/\.$/, "");
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function reportFailure(cli: Cli, thrown: unknown): number {
  if (cli.terminal.closed.aborted) return 141;
  const error = MeshError.from(thrown);
  const text = oneLine(error.message);
  // An error that is not ours has no advice in it.
  const advice = thrown instanceof MeshError ? "" : " — run `yao doctor`, and report this if it goes on";
  cli.terminal.err(`yao: ${text}${advice}\n`);
  return error.code === "cancelled" && text === "interrupted" ? 130 : 1;
}
