/** `yao up` and `yao down`. */

import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { delimiter, join } from "node:path";

import { errorText, MeshError } from "@mesh/kernel";
import type { Command } from "commander";

import { type Cli, type CommonFlags, print, printJson } from "../cli.ts";
import { type Builder, leaf, whole } from "../command.ts";
import { type CliOptions, homeDirectory } from "../config.ts";
import { startInBackground, stopOwner } from "../up/background.ts";
import { type GivenNats, lockPath, type Running, startUp, type UpOptions } from "../up/up.ts";

interface UpFlags extends CommonFlags {
  readonly host?: string;
  readonly port?: number;
  readonly grpcPort?: number;
  readonly natsPort?: number;
  readonly node: boolean;
  readonly detach?: boolean;
}

/** What is told when the system is up. */
interface UpReport {
  readonly url: string;
  readonly grpc_address: string;
  readonly data_dir: string;
  readonly node?: string;
  readonly demo_app: boolean;
  readonly admin_token?: string;
  /** Logs one browser in; only at the first start. */
  readonly open_url?: string;
}

const PORTS = { http: 7400, grpc: 7401, nats: 7402 } as const;
const port = whole(0, 65_535);

/** `yao up`. */
export function upCommand(builder: Builder): Command {
  return leaf<UpFlags>(builder, {
    name: "up",
    text: "Start the whole system on this device: PostgreSQL, NATS, the coordinator and a node.",
    examples: [
      "yao up",
      "yao up --detach",
      "yao up --host 0.0.0.0",
      "YAO_DATABASE_URL=postgres://… YAO_NATS_URL=nats://… yao up --no-node",
    ],
    flags: [
      { flags: "--host <address>", text: "address to listen on (default: 127.0.0.1; 0.0.0.0 lets other devices in)" },
      { flags: "--port <number>", text: `HTTP port (default: ${PORTS.http})`, parse: port },
      { flags: "--grpc-port <number>", text: `gRPC port (default: ${PORTS.grpc})`, parse: port },
      { flags: "--nats-port <number>", text: `port of the private NATS server (default: ${PORTS.nats})`, parse: port },
      { flags: "--no-node", text: "do not run assistants on this device" },
      { flags: "--detach", text: "go on in the background; stop it with `yao down`" },
    ],
    action: (cli, _args, flags) => (flags.detach === true ? detach(cli, flags) : foreground(cli, flags)),
  });
}

/** `yao down`. */
export function downCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "down",
    text: "Stop what `yao up` started on a data directory, in order.",
    examples: ["yao down", "yao down --data /srv/yao"],
    action: async (cli, _args, flags) => {
      const home = homeDirectory(flags.data, cli.options);
      const pid = await stopOwner(lockPath(home));
      print(cli, flags, { stopped: pid !== undefined, pid }, () =>
        pid === undefined ? `nothing runs on ${home}\n` : `stopped (process ${pid})\n`,
      );
      return undefined;
    },
  });
}

async function foreground(cli: Cli, flags: UpFlags): Promise<number> {
  const stop = new AbortController();
  let running: Running | undefined;
  const say = (line: string): void => cli.terminal.err(`${line}\n`);
  const unlisten = cli.interrupts.listen((_signal, count) => {
    say(count === 1 ? "stopping; press Ctrl-C again to end at once" : "ending at once");
    stop.abort();
    if (count > 1) running?.kill();
  });
  try {
    if (flags.json !== true)
      cli.terminal.progress("starting; the first start makes a database and takes a few seconds");
    running = await startUp(upOptions(cli, flags, say), stop.signal);
    const report = reportOf(running);
    cli.self.tellParent?.({ kind: "ready", report });
    tell(cli, flags, report);
    stop.signal.addEventListener("abort", () => void running?.stop(), { once: true });
    if (stop.signal.aborted) await running.stop();
    await running.ended;
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    cli.self.tellParent?.({ kind: "failed", message: errorText(error) });
    throw error;
  } finally {
    unlisten();
  }
}

// With a parent that waits, the token is the parent's to show: this output is a log file.
function tell(cli: Cli, flags: UpFlags, report: UpReport): void {
  const { admin_token: token, open_url: _link, ...rest } = report;
  const shown: UpReport = cli.self.tellParent === undefined && token !== undefined ? report : rest;
  if (flags.json === true) printJson(cli, shown);
  else cli.terminal.out(reportText(cli, shown, flags));
}

async function detach(cli: Cli, flags: UpFlags): Promise<number> {
  const home = homeDirectory(flags.data, cli.options);
  const logPath = join(home, "yao.log");
  const { message, pid } = await startInBackground(cli, ["up", ...argumentsOf(home, flags)], logPath);
  const report = message["report"] as UpReport;
  if (flags.json === true) printJson(cli, { ...report, pid });
  else
    cli.terminal.out(
      `${reportText(cli, report, flags)}\nin the background as process ${pid}; stop it with: yao down\n`,
    );
  return 0;
}

function argumentsOf(home: string, flags: UpFlags): readonly string[] {
  const value = (name: string, given: string | number | undefined): readonly string[] =>
    given === undefined ? [] : [name, String(given)];
  return [
    "--data",
    home,
    ...value("--host", flags.host),
    ...value("--port", flags.port),
    ...value("--grpc-port", flags.grpcPort),
    ...value("--nats-port", flags.natsPort),
    ...(flags.node ? [] : ["--no-node"]),
  ];
}

function upOptions(cli: Cli, flags: UpFlags, say: (line: string) => void): UpOptions {
  const { options, clock, env } = cli;
  return {
    dataDir: homeDirectory(flags.data, options),
    host: flags.host ?? options.host ?? "127.0.0.1",
    httpPort: flags.port ?? options.httpPort ?? PORTS.http,
    grpcPort: flags.grpcPort ?? options.grpcPort ?? PORTS.grpc,
    natsPort: flags.natsPort ?? options.natsPort ?? PORTS.nats,
    hasNode: flags.node,
    clock,
    env,
    databaseUrl: options.databaseUrl,
    nats: givenNats(options),
    natsBinary: options.natsServer,
    token: options.token,
    say,
  };
}

function givenNats(options: CliOptions): GivenNats | undefined {
  const { natsUrl, natsTrustDir, natsWs } = options;
  if (natsUrl === undefined) return undefined;
  if (natsTrustDir === undefined || natsWs === undefined) {
    throw new MeshError(
      "invalid_argument",
      "YAO_NATS_URL needs YAO_NATS_TRUST_DIR and YAO_NATS_WS too — make a trust directory and a server configuration with `yao nats config DIR`",
    );
  }
  return { url: natsUrl, trustDir: natsTrustDir, websocket: natsWs };
}

function reportOf(running: Running): UpReport {
  return {
    url: running.url,
    grpc_address: running.grpcAddress,
    data_dir: running.dataDir,
    ...(running.node === undefined ? {} : { node: running.node.name }),
    demo_app: running.hasPushedDemo,
    ...(running.adminToken === undefined ? {} : { admin_token: running.adminToken }),
    ...(running.loginUrl === undefined ? {} : { open_url: running.loginUrl }),
  };
}

function reportText(cli: Cli, report: UpReport, flags: UpFlags): string {
  const bold = (text: string): string => cli.terminal.bold(text);
  const { node, admin_token: token, open_url: link } = report;
  const lines = [
    `${bold("Yao Mesh is up")} at ${bold(report.url)} (gRPC ${report.grpc_address})`,
    `  data: ${report.data_dir}`,
    node === undefined ? "  this device runs no assistants (--no-node)" : `  this device joined as ${bold(node)}`,
    ...(report.demo_app ? ["  the demo app was pushed to the workspace default"] : []),
    ...(token === undefined
      ? []
      : [
          "",
          `admin token: ${token}`,
          "  shown this once, and kept in the data directory; this device is logged in with it",
        ]),
    "",
    link === undefined ? `Open  ${report.url}  (log in with: yao web)` : `Open  ${bold(link)}`,
    ...(link === undefined ? [] : ["  logs a browser in once, within a day; another link: yao web"]),
    "",
    "next:",
    ...aliasHint(cli),
    ...(report.data_dir === homeDirectory(undefined, cli.options)
      ? []
      : [`  export YAO_HOME=${shellWord(report.data_dir)}`]),
    '  yao run hello "Good morning"',
    "  yao node list",
    ...joinHint(report.url, flags.host ?? cli.options.host ?? "127.0.0.1"),
  ];
  return `${lines.join("\n")}\n`;
}

// From a clone the command has no name of its own yet.
function aliasHint(cli: Cli): readonly string[] {
  const isNamed = (cli.env["PATH"] ?? "").split(delimiter).some((dir) => dir !== "" && existsSync(join(dir, "yao")));
  return isNamed ? [] : [`  alias yao=${shellWord(`node ${shellWord(cli.self.script)}`)}`];
}

/** Text as one word of a shell, quoted when it must be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function joinHint(url: string, host: string): readonly string[] {
  if (host === "127.0.0.1" || host === "localhost" || host === "::1") {
    return ["  another device: start with --host 0.0.0.0, then yao node token create"];
  }
  const address = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === "IPv4" && !entry.internal)?.address;
  const reachable = address === undefined ? url : `http://${address}:${new URL(url).port}`;
  return ["  another device: yao node token create, then on it:", `    yao node join ${reachable} --token TOKEN`];
}
