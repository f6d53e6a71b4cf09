/** Server settings of an embedded PostgreSQL: honest durability, sized for one device. */

/** What the settings depend on. */
export interface ServerSettings {
  readonly port: number;
  /** False only for tests: commits then do not wait for the disk. */
  readonly durable: boolean;
}

/** Settings by name; they are given on the command line, so those of this release always apply. */
export function serverSettings({ port, durable }: ServerSettings): Readonly<Record<string, string>> {
  return {
    listen_addresses: "127.0.0.1",
    port: String(port),
    // No socket file: nothing to place, nothing too long, nothing left behind.
    unix_socket_directories: "",
    max_connections: "100",
    shared_buffers: "64MB",
    fsync: durable ? "on" : "off",
    synchronous_commit: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    // A single server without replicas.
    wal_level: "minimal",
    max_wal_senders: "0",
    min_wal_size: "32MB",
    max_wal_size: "256MB",
    // Short statements only: compiling them, or spreading them over processes and /dev/shm, costs more than it gives.
    jit: "off",
    max_parallel_workers_per_gather: "0",
    // No extra I/O processes for a database that fits in memory.
    io_method: "sync",
    // Queue tables must be cleaned often to stay small.
    autovacuum_naptime: "15s",
    timezone: "UTC",
    log_timezone: "UTC",
    lc_messages: "C",
    logging_collector: "off",
    log_destination: "stderr",
    log_line_prefix: "",
    log_checkpoints: "off",
    // Statements may hold what users wrote; they stay out of the log.
    log_min_error_statement: "panic",
  };
}

/** The settings as arguments of the `postgres` program. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
