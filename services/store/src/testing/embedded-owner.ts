/** A program of its own for tests to kill: owns an embedded server in the directory it is given and prints its URL and pid. */

import { systemClock } from "@mesh/kernel";

import { startEmbeddedPostgres } from "../embedded/embedded-postgres.ts";
import type { StoreLog } from "../log.ts";

const silent: StoreLog = { debug() {}, info() {}, warn() {}, error() {} };
const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error("usage: embedded-owner DIR");

const server = await startEmbeddedPostgres({ dataDir, log: silent, clock: systemClock });
process.stdout.write(`${JSON.stringify({ url: server.url, pid: server.pid, uid: process.getuid?.() })}\n`);
process.stdin.resume();
process.stdin.once("end", () => void server.stop());
