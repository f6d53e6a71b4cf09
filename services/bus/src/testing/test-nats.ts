/** A real nats-server for one test file: fresh keys, fresh store, free ports. */

import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";

import { type BusAdmin, busAdmin } from "../admin.ts";
import type { Bus } from "../bus.ts";
import type { BusOptions } from "../link.ts";
import { connectBus } from "../nats-bus.ts";
import { createUserKey } from "../nkey.ts";
import { findNatsServer } from "../server-process.ts";
import { type NatsServer, startNatsServer } from "../server.ts";
import { inboxPrefix, nodeDigest } from "../subjects.ts";
import { type BusCredentials, createTrust, type NatsTrust } from "../trust.ts";

/** A node's identity for tests. */
export interface TestNode {
  readonly nkey: string;
  readonly seed: Uint8Array;
  readonly digest: string;
}

/** The server, its trust, and shortcuts to connect. */
export interface TestNats {
  /** The server now running; another one after `restart`. */
  readonly server: NatsServer;
  readonly trust: NatsTrust;
  readonly dataDir: string;
  /** Credentials with all rights in the mesh account. */
  readonly coordinator: BusCredentials;
  readonly admin: BusAdmin;
  /** A bus with the coordinator's rights; closed by `stop`. */
  connect(options?: Partial<BusOptions>): Promise<Bus>;
  /** A bus with the rights of a (new) node; closed by `stop`. */
  connectNode(options?: Partial<BusOptions> & { readonly node?: TestNode }): Promise<{ bus: Bus; node: TestNode }>;
  /**
   * Kills the server with SIGKILL, runs `between`, starts one on the same ports and store, and waits until `admin` is
   * connected again.
   */
  restart(between?: () => Promise<void> | void): Promise<void>;
  stop(): Promise<void>;
}

/** A new node identity. */
export function testNode(): TestNode {
  const key = createUserKey();
  return { ...key, digest: nodeDigest(key.nkey) };
}

/** Starts a server in a temporary directory; streams are made when `streams` is not false. */
export async function testNats(options: { readonly streams?: boolean } = {}): Promise<TestNats> {
  const dir = mkdtempSync(join(tmpdir(), "yao-nats-"));
  const trust = createTrust(join(dir, "trust"), systemClock);
  const binary = process.env["YAO_TEST_NATS_SERVER"] ?? findNatsServer(process.env["PATH"] ?? "", homedir());
  const dataDir = join(dir, "nats");
  const launch = (port: number, websocketPort: number): Promise<NatsServer> =>
    startNatsServer({ dataDir, trust, port, websocketPort, clock: systemClock, binary });
  let server = await launch(0, 0);
  const coordinator = await trust.issueCoordinator();
  const buses: Bus[] = [];
  const open = async (settings: Partial<BusOptions>): Promise<Bus> => {
    const bus = await connectBus({
      servers: [server.url],
      credentials: coordinator,
      name: "test",
      clock: systemClock,
      ...settings,
    });
    buses.push(bus);
    return bus;
  };
  const adminBus = await open({ name: "admin" });
  const admin = busAdmin(adminBus);
  if (options.streams !== false) await admin.ensureStreams();
  return {
    get server() {
      return server;
    },
    trust,
    dataDir,
    coordinator,
    admin,
    connect: (settings = {}) => open(settings),
    connectNode: async ({ node = testNode(), ...settings } = {}) => {
      const { jwt } = await trust.issueNode({ nkey: node.nkey, digest: node.digest, ttlMs: 3_600_000 });
      const credentials = { jwt: () => jwt, seed: node.seed };
      const bus = await open({ name: "node", inboxPrefix: inboxPrefix(node.digest), credentials, ...settings });
      return { bus, node };
    },
    restart: async (between) => {
      process.kill(server.pid, "SIGKILL");
      await server.exited;
      await between?.();
      server = await launch(portOf(server.url), portOf(server.websocketUrl));
      await until(() => adminBus.status.kind === "connected", { what: "the admin's connection", timeoutMs: 30_000 });
    },
    stop: async () => {
      await Promise.all(buses.map((bus) => bus.close()));
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
