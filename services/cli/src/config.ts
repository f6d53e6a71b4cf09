/** What the command line reads from the environment; flags win over these, these win over the credential file. */

import { homedir } from "node:os";
import { join, resolve } from "node:path";

import { integer, oneOf, type OptionTable, type OptionValues, parseOptions, text } from "@mesh/kernel";

/** Environment of the command line, parsed. */
export interface CliOptions {
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly workspace: string | undefined;
  readonly home: string | undefined;
  readonly host: string | undefined;
  readonly httpPort: number | undefined;
  readonly grpcPort: number | undefined;
  readonly natsPort: number | undefined;
  readonly databaseUrl: string | undefined;
  readonly natsUrl: string | undefined;
  readonly natsTrustDir: string | undefined;
  readonly natsWs: string | undefined;
  readonly natsServer: string | undefined;
  readonly logLevel: string | undefined;
}

const port = integer(0, 65_535);

const TABLE = {
  url: { env: "YAO_URL", parse: text, doc: "Address of the coordinator." },
  token: { env: "YAO_TOKEN", parse: text, secret: true, doc: "API token." },
  workspace: { env: "YAO_WORKSPACE", parse: text, doc: "Workspace that commands work in." },
  home: { env: "YAO_HOME", parse: text, doc: "Directory of this device's data; default ~/.yao." },
  host: { env: "YAO_HOST", parse: text, doc: "Address `yao up` listens on; default 127.0.0.1." },
  httpPort: { env: "YAO_HTTP_PORT", parse: port, doc: "HTTP port of `yao up`; default 7400." },
  grpcPort: { env: "YAO_GRPC_PORT", parse: port, doc: "gRPC port of `yao up`; default 7401." },
  natsPort: { env: "YAO_NATS_PORT", parse: port, doc: "NATS port of `yao up`; default 7402." },
  databaseUrl: {
    env: "YAO_DATABASE_URL",
    parse: text,
    secret: true,
    doc: "PostgreSQL to use instead of a private one.",
  },
  natsUrl: { env: "YAO_NATS_URL", parse: text, doc: "NATS server to use instead of a private one." },
  natsTrustDir: { env: "YAO_NATS_TRUST_DIR", parse: text, doc: "Trust directory of a given NATS server." },
  natsWs: { env: "YAO_NATS_WS", parse: text, doc: "host:port of a given NATS server's WebSocket listener." },
  natsServer: { env: "YAO_NATS_SERVER", parse: text, doc: "Path of the nats-server binary; default: found on PATH." },
  logLevel: {
    env: "YAO_LOG_LEVEL",
    parse: oneOf("trace", "debug", "info", "warn", "error", "silent"),
    doc: "Log level of the processes `yao up` starts.",
  },
} satisfies OptionTable;

/** The variables of one process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the command line's own variables; those of the coordinator and the node agent are left to them. */
export function readCliOptions(env: Environment): CliOptions {
  const known = new Set<string>(Object.values(TABLE).flatMap((row) => [row.env, `${row.env}_FILE`]));
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => known.has(name)));
  const values: OptionValues<typeof TABLE> = parseOptions(TABLE, { env: own });
  return values;
}

/** The data directory: the flag, else `YAO_HOME`, else `~/.yao`; always absolute. */
export function homeDirectory(flag: string | undefined, options: Pick<CliOptions, "home">): string {
  return resolve(flag ?? options.home ?? join(homedir(), ".yao"));
}

/** Where the node agent of a data directory keeps its identity and journal. */
export function nodeDirectory(home: string): string {
  return join(home, "node");
}
