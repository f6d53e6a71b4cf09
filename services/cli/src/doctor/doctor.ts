/** Examines a device and its coordinator: each check is independent, and says what to do when it is not well. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

import { type Clock, errorText, MeshError } from "@mesh/kernel";
import type { GetStatusResponse, ListNodesResponse, WhoAmIResponse } from "@mesh/proto";

import type { Cli, Target } from "../cli.ts";
import { Client } from "../client/client.ts";
import { ownerOf } from "../up/background.ts";
import { lockPath } from "../up/up.ts";

/** Result of one check. */
export interface Finding {
  readonly level: "ok" | "warn" | "fail";
  readonly what: string;
  readonly text: string;
  readonly advice?: string;
}

const OLDEST_NODE = [20, 19] as const;
// Since 2.10 the server keeps the settings of streams that 2.9 drops.
const OLDEST_COMFORTABLE_NATS = [2, 10] as const;
const MAX_SKEW_MS = 5000;
const HEALTH_MS = 5000;

/** All findings, in the order a person reads them. */
export async function examine(cli: Cli, home: string, target: () => Target): Promise<readonly Finding[]> {
  const local = [checkNode(process.versions.node), checkHome(home), checkOwner(home)];
  const servers = [...(await checkNatsServer(cli)), checkPostgres(cli, home)];
  return [...local, ...servers, ...(await checkCoordinator(cli, target))];
}

/** Whether this Node.js is new enough. */
export function checkNode(version: string): Finding {
  return isAtLeast(version, OLDEST_NODE)
    ? { level: "ok", what: "node", text: `Node.js ${version}` }
    : { level: "fail", what: "node", text: `Node.js ${version} is too old`, advice: "install 20.19 or newer" };
}

/** What a nats-server version means for us. */
export function checkNatsVersion(version: string): Finding {
  return isAtLeast(version, OLDEST_COMFORTABLE_NATS)
    ? { level: "ok", what: "nats-server", text: version }
    : {
        level: "warn",
        what: "nats-server",
        text: `${version} works, without per-message limits and metadata of streams`,
        advice: "2.10 or newer is better",
      };
}

function checkHome(home: string): Finding {
  const what = "data";
  if (!existsSync(home)) return { level: "ok", what, text: `${home} does not exist yet; yao up makes it` };
  try {
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return {
      level: "fail",
      what,
      text: `${home} is not writable`,
      advice: "check who owns it, or choose another with --data",
    };
  }
  const isOpen = (statSync(home).mode & 0o077 & ~0o011) !== 0;
  return isOpen
    ? { level: "warn", what, text: `${home} can be read by other users`, advice: `chmod 700 ${home}` }
    : { level: "ok", what, text: home };
}

function checkOwner(home: string): Finding {
  const what = "yao up";
  try {
    const owner = ownerOf(lockPath(home));
    return { level: "ok", what, text: owner === undefined ? "does not run here" : `runs here as process ${owner}` };
  } catch (error) {
    return { level: "warn", what, text: errorText(error) };
  }
}

async function checkNatsServer(cli: Cli): Promise<readonly Finding[]> {
  if (cli.options.natsUrl !== undefined) return [{ level: "ok", what: "nats-server", text: "given by YAO_NATS_URL" }];
  try {
    const { findNatsServer } = await import("@mesh/bus");
    const binary = cli.options.natsServer ?? findNatsServer(cli.env["PATH"] ?? "", homedir());
    const { stdout } = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 5000 });
    const version = /(\d+\.\d+\.\d+)/.exec(stdout)?.[1];
    if (version !== undefined) return [checkNatsVersion(version)];
    return [
      {
        level: "fail",
        what: "nats-server",
        text: `${binary} does not tell its version`,
        advice: "run deploy/install-nats.sh",
      },
    ];
  } catch (error) {
    return [{ level: "fail", what: "nats-server", text: errorText(error) }];
  }
}

function checkPostgres(cli: Cli, home: string): Finding {
  const what = "postgres";
  if (cli.options.databaseUrl !== undefined) return { level: "ok", what, text: "given by YAO_DATABASE_URL" };
  return existsSync(join(home, "postgres"))
    ? { level: "ok", what, text: `private, in ${join(home, "postgres")}` }
    : { level: "ok", what, text: "private; yao up makes it at its first start" };
}

async function checkCoordinator(cli: Cli, target: () => Target): Promise<readonly Finding[]> {
  const what = "coordinator";
  let resolved: Target;
  try {
    resolved = target();
  } catch (error) {
    return [{ level: "fail", what: "login", text: errorText(error) }];
  }
  const client = new Client(cli.clock, resolved);
  let skewMs: number;
  try {
    skewMs = await measureSkew(cli.clock, client);
  } catch (error) {
    return [{ level: "fail", what, text: errorText(error) }];
  }
  const skew: Finding =
    Math.abs(skewMs) <= MAX_SKEW_MS
      ? { level: "ok", what: "clock", text: "agrees with the coordinator's" }
      : {
          level: "warn",
          what: "clock",
          text: `differs from the coordinator's by ${Math.round(Math.abs(skewMs) / 1000)} s`,
          advice: "synchronise this device's time",
        };
  return [{ level: "ok", what, text: `reachable at ${resolved.url}` }, skew, ...(await checkRights(client))];
}

// Rejects when there is no answer.
async function measureSkew(clock: Clock, client: Client): Promise<number> {
  const deadline = new AbortController();
  const cancel = clock.after(HEALTH_MS, () =>
    deadline.abort(
      new MeshError(
        "deadline_exceeded",
        `${client.url} takes connections but gives no answer — see log/coordinator.log in its data directory, or start it again`,
      ),
    ),
  );
  try {
    const sentAt = clock.now();
    const response = await client.open("GET", "/healthz", { signal: deadline.signal });
    await response.arrayBuffer();
    return skewOf(response.headers.get("date"), (sentAt + clock.now()) / 2);
  } finally {
    cancel();
  }
}

async function checkRights(client: Client): Promise<readonly Finding[]> {
  try {
    const me = await client.get<WhoAmIResponse>("/v1/whoami");
    const login: Finding = { level: "ok", what: "login", text: `${me.user}, may: ${me.scopes.join(", ")}` };
    return [login, ...(await checkMesh(client))];
  } catch (error) {
    return [{ level: "fail", what: "login", text: errorText(error) }];
  }
}

async function checkMesh(client: Client): Promise<readonly Finding[]> {
  try {
    const status = await client.get<GetStatusResponse>("/v1/status");
    const { nodes } = await client.get<ListNodesResponse>("/v1/nodes");
    const online = nodes.filter((node) => node.status === "online").length;
    const text = `${online} of ${nodes.length} online, ${status.runs_active} runs active, ${status.runs_queued} queued`;
    return [
      {
        level: "ok",
        what: "system",
        text: `version ${status.version}, PostgreSQL ${status.postgres_version}, NATS ${status.nats_version}`,
      },
      online > 0
        ? { level: "ok", what: "nodes", text }
        : { level: "warn", what: "nodes", text, advice: "let a device join with `yao node token create`" },
    ];
  } catch (error) {
    return [{ level: "warn", what: "system", text: errorText(error) }];
  }
}

// The Date header has a resolution of one second.
function skewOf(header: string | null, hereMs: number): number {
  const thereMs = header === null ? Number.NaN : Date.parse(header);
  return Number.isNaN(thereMs) ? 0 : thereMs + 500 - hereMs;
}

function isAtLeast(version: string, wanted: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > wanted[0] || (major === wanted[0] && minor >= wanted[1]);
}
