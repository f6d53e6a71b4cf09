/** `yao node join|run|stop|leave|install`: this device's own part in a mesh. */

import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";

import { errorText } from "@mesh/kernel";
import type { Command } from "commander";

import { type Cli, type CommonFlags, print, printJson, targetOf } from "../cli.ts";
import { parseAddress } from "../client/address.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, leaf, pairs, whole } from "../command.ts";
import { homeDirectory, nodeDirectory } from "../config.ts";
import { readSecret } from "../terminal/secret.ts";
import { oneLine } from "../terminal/terminal.ts";
import { startInBackground, stopOwner } from "../up/background.ts";

interface RunFlags extends CommonFlags {
  readonly slots?: number;
  readonly detach?: boolean;
}

interface JoinFlags extends RunFlags {
  readonly token?: string;
  readonly name?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly run: boolean;
}

interface InstallFlags extends CommonFlags {
  readonly dryRun?: boolean;
}

// Exit code of an agent whose device was removed; its identity stays until it leaves.
const REMOVED = 77;
const REMOVED_TEXT =
  "this device was removed from the mesh; to use it again: yao node leave, then join with a new token";

const SLOTS_FLAG = {
  flags: "--slots <number>",
  text: "how many runs at a time (default: the coordinator decides)",
  parse: whole(1, 256),
};

/** `yao node join`. */
export function joinCommand(builder: Builder): Command {
  return leaf<JoinFlags>(builder, {
    name: "join <url>",
    text: "Let this device join a mesh, and run its agent.",
    examples: [
      "yao node join https://mesh.example.com --token yj_…",
      "yao node join https://mesh.example.com --token yj_… --name laptop --label gpu=yes --detach",
    ],
    flags: [
      { flags: "--token <token>", text: "join token from `yao node token create`; - reads standard input" },
      { flags: "--name <name>", text: "name of this device (default: its host name)" },
      { flags: "--label <key=value>", text: "label of this device (repeatable)", parse: pairs },
      SLOTS_FLAG,
      { flags: "--no-run", text: "only join; run the agent later with `yao node run`" },
      { flags: "--detach", text: "run the agent in the background" },
    ],
    action: joinMesh,
  });
}

async function joinMesh(cli: Cli, args: readonly string[], flags: JoinFlags): Promise<number> {
  const { joinNode } = await import("@mesh/node-agent/main");
  const home = homeDirectory(flags.data, cli.options);
  const isNewHome = !existsSync(home);
  const token = await readSecret(
    { terminal: cli.terminal, env: cli.env },
    {
      what: "the join token",
      question: "join token: ",
      ...(flags.token === "-" ? { isStdin: true } : {}),
      ...(flags.token === undefined || flags.token === "-" ? {} : { value: flags.token }),
      advice: "make one with `yao node token create` and give it with --token",
    },
  );
  const joined = await joinNode({
    url: parseAddress(args[0] ?? ""),
    token,
    labels: flags.label ?? {},
    dataDir: nodeDirectory(home),
    log: agentLog(cli),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.slots === undefined ? {} : { slots: flags.slots }),
  });
  // A directory that was there keeps the rights its owner gave it.
  if (isNewHome) chmodSync(home, 0o700);
  const verb = joined.alreadyJoined ? "has joined before" : "joined";
  print(
    cli,
    flags,
    { node_id: joined.nodeId, name: joined.name, already_joined: joined.alreadyJoined },
    () => `this device ${verb} as ${oneLine(joined.name)}\n`,
  );
  return flags.run ? await runAgent(cli, flags) : 0;
}

/** `yao node run`. */
export function runCommand(builder: Builder): Command {
  return leaf<RunFlags>(builder, {
    name: "run",
    text: "Run the agent of this device, which has joined before.",
    examples: ["yao node run", "yao node run --detach"],
    flags: [SLOTS_FLAG, { flags: "--detach", text: "in the background; stop it with `yao node stop`" }],
    action: (cli, _args, flags) => runAgent(cli, flags),
  });
}

async function runAgent(cli: Cli, flags: RunFlags): Promise<number> {
  const dataDir = nodeDirectoryOf(cli, flags);
  if (flags.detach === true) return await detachAgent(cli, flags, dataDir);
  const { runNodeAgent } = await import("@mesh/node-agent/main");
  try {
    const exit = await runNodeAgent({
      dataDir,
      log: agentLog(cli),
      ...(flags.slots === undefined ? {} : { slots: flags.slots }),
      onReady: ({ nodeId, name }) => {
        cli.self.tellParent?.({ kind: "ready", nodeId, name });
        cli.terminal.progress(`${name} is ready for work; press Ctrl-C to stop`);
      },
    });
    if (exit.code === 0) return 0;
    const message = exit.code === REMOVED ? REMOVED_TEXT : oneLine(exit.reason);
    cli.self.tellParent?.({ kind: "failed", message });
    cli.terminal.err(`yao: ${message}\n`);
    return exit.code;
  } catch (error) {
    cli.self.tellParent?.({ kind: "failed", message: errorText(error) });
    throw error;
  }
}

async function detachAgent(cli: Cli, flags: RunFlags, dataDir: string): Promise<number> {
  const logPath = join(dataDir, "agent.log");
  const slots = flags.slots === undefined ? [] : ["--slots", String(flags.slots)];
  const args = ["node", "run", "--data", homeDirectory(flags.data, cli.options), ...slots];
  const { pid, message } = await startInBackground(cli, args, logPath);
  const name = String(message["name"]);
  if (flags.json === true) printJson(cli, { pid, node_id: message["nodeId"], name });
  else
    cli.terminal.out(
      `${oneLine(name)} is ready for work, in the background as process ${pid}; stop it with: yao node stop\n`,
    );
  return 0;
}

/** `yao node stop`. */
export function stopCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "stop",
    text: "Stop the agent of this device.",
    examples: ["yao node stop"],
    action: async (cli, _args, flags) => {
      const pid = await stopOwner(join(nodeDirectoryOf(cli, flags), "agent.lock"));
      print(cli, flags, { stopped: pid !== undefined, pid }, () =>
        pid === undefined ? "no agent runs here\n" : `stopped (process ${pid})\n`,
      );
      return undefined;
    },
  });
}

/** `yao node leave`. */
export function leaveCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "leave",
    text: "Take this device out of its mesh. Its agent must be stopped first.",
    examples: ["yao node leave"],
    action: leaveMesh,
  });
}

async function leaveMesh(cli: Cli, _args: readonly string[], flags: CommonFlags): Promise<undefined> {
  const device = await import("@mesh/node-agent/main");
  const left = device.leaveMesh(nodeDirectoryOf(cli, flags));
  if (left === undefined) {
    print(cli, flags, { left: false }, () => "this device has not joined a mesh\n");
    return undefined;
  }
  const removed = await removeAtCoordinator(cli, flags, left);
  print(cli, flags, { left: true, ...left, removed }, () =>
    removed
      ? `left ${left.url}; ${oneLine(left.name)} was removed there\n`
      : `left ${left.url}; it still lists ${oneLine(left.name)}: an administrator removes it with yao node remove ${oneLine(left.name)}\n`,
  );
  return undefined;
}

// Only who is logged in at that coordinator may remove a device there; leaving works without.
async function removeAtCoordinator(
  cli: Cli,
  flags: CommonFlags,
  left: { readonly url: string; readonly name: string },
): Promise<boolean> {
  const target = targetOf(cli, flags);
  if (target.url !== left.url || target.token === undefined) return false;
  try {
    await new Client(cli.clock, target).delete(apiPath`/v1/nodes/${left.name}`);
    return true;
  } catch (error) {
    cli.terminal.progress(errorText(error));
    return false;
  }
}

/** `yao node install`. */
export function installCommand(builder: Builder): Command {
  return leaf<InstallFlags>(builder, {
    name: "install",
    text: "Write a service description (systemd or launchd) that runs the agent at login. Enabling it is up to you.",
    examples: ["yao node install", "yao node install --dry-run"],
    flags: [{ flags: "--dry-run", text: "only print it" }],
    action: async (cli, _args, flags) => {
      const { installUnit } = await import("@mesh/node-agent/main");
      const unit = installUnit({ dataDir: nodeDirectoryOf(cli, flags), dryRun: flags.dryRun === true });
      print(cli, flags, unit, () => {
        const head = flags.dryRun === true ? `# ${unit.path}` : `wrote ${unit.path}:`;
        return `${head}\n\n${unit.text}\nenable it with:\n${unit.enableCommands.map((line) => `  ${line}\n`).join("")}`;
      });
      return undefined;
    },
  });
}

function nodeDirectoryOf(cli: Cli, flags: CommonFlags): string {
  return nodeDirectory(homeDirectory(flags.data, cli.options));
}

type LogLine = (fields: object, phrase: string) => void;

// People see what changes and what goes wrong; details are for the log of `node-agent` itself.
function agentLog(cli: Cli): Readonly<Record<"debug" | "info" | "warn" | "error", LogLine>> {
  const line: LogLine = (fields, phrase) => cli.terminal.err(`${oneLine(`${phrase} ${JSON.stringify(fields)}`)}\n`);
  return {
    debug: () => undefined,
    info: (fields, phrase) => {
      if (!cli.terminal.showsProgress) line(fields, phrase);
    },
    warn: line,
    error: line,
  };
}
