/**
 * Gives infrastructure tests their PostgreSQL and checks for NATS: what the environment names, else programs of this
 * machine, else a container.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { errorText, systemClock } from "@mesh/kernel";
import { startEmbeddedPostgres, type StoreLog } from "@mesh/store";

const silent: StoreLog = { debug() {}, info() {}, warn() {}, error() {} };

interface TestServer {
  readonly url: string;
  stop(): Promise<unknown>;
}

/** Vitest's global setup of the project `infra`; the returned function is its teardown. */
export async function setup(): Promise<() => Promise<void>> {
  requireNatsServer();
  const given = process.env["YAO_TEST_DATABASE_URL"];
  if (given !== undefined && given !== "") return async () => undefined;
  const server = await startServer();
  process.env["YAO_TEST_DATABASE_URL"] = server.url;
  return async () => {
    delete process.env["YAO_TEST_DATABASE_URL"];
    await server.stop();
  };
}

async function startServer(): Promise<TestServer> {
  const dataDir = mkdtempSync(join(tmpdir(), "yao-test-postgres-"));
  try {
    const server = await startEmbeddedPostgres({ dataDir, log: silent, clock: systemClock, durable: false });
    return {
      url: server.url,
      stop: async () => {
        await server.stop();
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(dataDir, { recursive: true, force: true });
    return startContainer(errorText(error));
  }
}

async function startContainer(whyNotLocal: string): Promise<TestServer> {
  try {
    const { GenericContainer, Wait } = await import("testcontainers");
    const container = await new GenericContainer("postgres:17-alpine")
      .withEnvironment({ POSTGRES_PASSWORD: "test" })
      .withExposedPorts(5432)
      .withWaitStrategy(Wait.forLogMessage("ready to accept connections", 2))
      .start();
    const url = `postgres://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
    return { url, stop: () => container.stop() };
  } catch (error) {
    throw new Error(
      `no PostgreSQL for the tests: the embedded one failed (${whyNotLocal}), a container too (${errorText(error)}). ` +
        "Set YAO_TEST_DATABASE_URL to a superuser's URL of a server you run.",
      { cause: error },
    );
  }
}

function requireNatsServer(): void {
  try {
    execFileSync("nats-server", ["--version"], { stdio: "ignore" });
  } catch (error) {
    throw new Error("nats-server is not on the PATH: run deploy/install-nats.sh", { cause: error });
  }
}
