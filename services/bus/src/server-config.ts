/** The configuration of a nats-server that trusts a mesh: operator mode, account store, JetStream, two listeners. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { MAX_PAYLOAD_BYTES } from "./errors.ts";
import type { NatsTrust, Revocations } from "./trust.ts";

/** Where a server keeps its files and listens; port 0 means: any free one. */
export interface ServerConfigOptions {
  /** Receives `nats.conf`, the accounts and the pid and port files. */
  readonly dir: string;
  /** JetStream's files. */
  readonly storeDir: string;
  readonly port: number;
  readonly websocketPort: number;
  /** Address both listeners bind; loopback unless said otherwise. */
  readonly host?: string;
  /** All revoked nodes; when left out, what this server was told last stays in force. */
  readonly revocations?: Revocations;
}

const MAX_FILE_STORE_BYTES = 8 * 1024 ** 3;
const MAX_MEMORY_STORE_BYTES = 64 * 1024 ** 2;

/** Writes `nats.conf` (0600) and returns its path. */
export async function writeServerConfig(trust: NatsTrust, options: ServerConfigOptions): Promise<string> {
  const { dir, storeDir, host = "127.0.0.1" } = options;
  const claims = await trust.serverClaims(options.revocations ?? {});
  const accountsDir = join(dir, "accounts");
  const meshJwt =
    options.revocations === undefined ? (storedJwt(accountsDir, claims.mesh.id) ?? claims.mesh.jwt) : claims.mesh.jwt;
  mkdirSync(accountsDir, { recursive: true, mode: 0o700 });
  mkdirSync(storeDir, { recursive: true, mode: 0o700 });
  const listen = (port: number): string => JSON.stringify(`${host}:${port === 0 ? -1 : port}`);
  const text = `# Written by yao; changes are overwritten.
server_name: yao
listen: ${listen(options.port)}
websocket { listen: ${listen(options.websocketPort)}, no_tls: true }
pid_file: ${JSON.stringify(join(dir, "nats.pid"))}
ports_file_dir: ${JSON.stringify(dir)}
max_payload: ${MAX_PAYLOAD_BYTES}
max_control_line: 4096
ping_interval: "20s"
ping_max: 2
write_deadline: "10s"
logtime: false
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  max_memory_store: ${MAX_MEMORY_STORE_BYTES}
  max_file_store: ${MAX_FILE_STORE_BYTES}
}
operator: ${claims.operatorJwt}
system_account: ${claims.system.id}
resolver { type: full, dir: ${JSON.stringify(accountsDir)}, allow_delete: false, interval: "2m" }
resolver_preload {
  ${claims.system.id}: ${claims.system.jwt}
  ${claims.mesh.id}: ${meshJwt}
}
`;
  const path = join(dir, "nats.conf");
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}

// A newer account without revocations would let removed nodes back in.
function storedJwt(accountsDir: string, id: string): string | undefined {
  try {
    return readFileSync(join(accountsDir, `${id}.jwt`), "utf8").trim();
  } catch {
    return undefined;
  }
}
