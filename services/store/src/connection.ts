/** How this system talks to PostgreSQL through postgres.js: timeouts, keepalives, types of values. */

import { MeshError } from "@mesh/kernel";
import postgres from "postgres";

import { openPool } from "./pool.ts";
import { VALUE_TYPES } from "./value-type.ts";

/** What a connection may be told. */
export interface ConnectionOptions {
  readonly url: string;
  /** Upper bound of the pool; default 10. */
  readonly maxConnections?: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName?: string;
  /** Longest time one statement may take; 0 is no limit; default 15 s. */
  readonly statementTimeoutMs?: number;
  /** Called each time a connection of the pool is lost or closed. */
  readonly onClose?: () => void;
}

const STATEMENT_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_SECONDS = 10;

/** Opens a pool; no connection is made before the first statement. */
export function openSql(options: ConnectionOptions): postgres.Sql {
  checkUrl(options.url);
  const { maxConnections = 10, applicationName = "yao", statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const connect = (onClose: () => void): postgres.Sql =>
    postgres(options.url, {
      max: 1,
      connect_timeout: CONNECT_TIMEOUT_SECONDS,
      keep_alive: 10,
      // The driver's default of half an hour to an hour would cut session locks.
      max_lifetime: null,
      onnotice: () => undefined,
      onclose: onClose,
      types: VALUE_TYPES,
      fetch_types: false,
      connection: {
        application_name: applicationName,
        statement_timeout: statementTimeoutMs,
        // The server frees the locks of a peer that vanished within 5 + 3 × 2 s.
        tcp_keepalives_idle: 5,
        tcp_keepalives_interval: 2,
        tcp_keepalives_count: 3,
      },
    });
  return openPool(connect, { maxConnections, onClose: options.onClose });
}

// The text of a URL is never repeated in an error: it holds a password.
function checkUrl(url: string): void {
  const scheme = URL.canParse(url) ? new URL(url).protocol : "";
  if (scheme !== "postgres:" && scheme !== "postgresql:") {
    throw new MeshError(
      "invalid_argument",
      "the database URL must look like postgres://user:password@host:5432/database (set YAO_DATABASE_URL)",
    );
  }
}
