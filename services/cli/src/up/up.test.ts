import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ownEnvironment } from "../testing/yao-process.ts";
import { writeUpPrograms } from "../testing/up-program.ts";
import type { Exit, Instance } from "./supervised.ts";
import { type Running, startUp, type UpOptions } from "./up.ts";

let root: string;
let said: string[];
let running: Running[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "yao-up-"));
  said = [];
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((system) => system.stop()));
  rmSync(root, { recursive: true, force: true });
});

const journal = (): string[] => {
  const path = join(root, "journal");
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
};
const events = (): string[] =>
  journal()
    .filter((line) => /started|stopped/.test(line))
    .map((line) => line.replace(/ \d+$/, ""));
const pidOf = (what: string): number =>
  Number(
    journal()
      .findLast((line) => line.startsWith(what))
      ?.split(" ")
      .at(-1),
  );

function server<Ready>(name: string, ready: Ready): Instance<Ready> {
  note(`${name} started`);
  let end: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => (end = resolve));
  const stop = (): Promise<void> => {
    note(`${name} stopped`);
    end({ code: 0, signal: null });
    return Promise.resolve();
  };
  return { ready, exited, stop, kill: () => end({ code: null, signal: "SIGKILL" }) };
}

function note(line: string): void {
  writeFileSync(join(root, "journal"), `${line} 0\n`, { flag: "a" });
}

function options(over: Partial<UpOptions> = {}): UpOptions {
  return {
    dataDir: join(root, "data"),
    host: "127.0.0.1",
    httpPort: 0,
    grpcPort: 0,
    natsPort: 0,
    hasNode: true,
    clock: systemClock,
    env: { ...ownEnvironment(), TEST_JOURNAL: join(root, "journal"), TEST_TOKEN: "yao_admin" },
    say: (line) => said.push(line),
    ...over,
    programs: {
      ...writeUpPrograms(join(root, "programs")),
      postgres: () => Promise.resolve(server("postgres", { url: "postgres://private", version: "18" })),
      nats: () =>
        Promise.resolve(
          server("nats", { url: "nats://private", websocket: "127.0.0.1:1", trustDir: "/trust", version: "2" }),
        ),
      join: async ({ url, token, dataDir }) => {
        note(`join ${token}`);
        mkdirSync(dataDir, { recursive: true });
        writeFileSync(join(dataDir, "node.json"), JSON.stringify({ url }));
      },
      ...over.programs,
    },
  };
}

async function up(over: Partial<UpOptions> = {}): Promise<Running> {
  const system = await startUp(options(over));
  running.push(system);
  return system;
}

describe("yao up", () => {
  test("starts in order of need and stops in reverse", async () => {
    const system = await up();
    expect(system.node).toEqual({ id: "node_1", name: "testbox" });
    await system.stop();
    const seen = events();
    expect(seen.slice(0, 2).toSorted()).toEqual(["nats started", "postgres started"]);
    expect(seen.slice(2)).toEqual([
      "coordinator started",
      "node started",
      "node stopped",
      "coordinator stopped",
      "nats stopped",
      "postgres stopped",
    ]);
  });

  test("gives the coordinator its servers and not the command line's secrets", async () => {
    await up({ env: { ...options().env, YAO_TOKEN: "mine", YAO_NODE_NAME: "x", YAO_LOG_LEVEL: "debug" } });
    const line = journal().find((entry) => entry.startsWith("env ")) ?? "";
    const env = JSON.parse(line.slice(4, line.lastIndexOf(" "))) as Record<string, string>;
    expect(env).toMatchObject({
      YAO_DATABASE_URL: "postgres://private",
      YAO_NATS_URL: "nats://private",
      YAO_NATS_TRUST_DIR: "/trust",
      YAO_NATS_WS: "127.0.0.1:1",
      YAO_LOG_LEVEL: "debug",
      YAO_HOST: "127.0.0.1",
    });
    expect(Object.keys(env)).not.toContain("YAO_TOKEN");
    expect(Object.keys(env)).not.toContain("YAO_NODE_NAME");
  });

  test("keeps the admin token for its owner alone, logs the command line in, and joins once", async () => {
    const first = await up();
    expect(first.adminToken).toBe("yao_admin");
    await first.stop();
    const data = join(root, "data");
    expect(statSync(join(data, "admin-token")).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(data, "cli.json"), "utf8"))).toEqual({ url: first.url, token: "yao_admin" });
    const port = Number(new URL(first.url).port);
    const second = await up({ httpPort: port, env: { ...options().env, TEST_TOKEN: undefined } });
    expect(second.adminToken).toBeUndefined();
    expect(journal().filter((line) => line.startsWith("join "))).toHaveLength(1);
  });

  test("keeps this device's identity and login when the port changes", async () => {
    const first = await up();
    await first.stop();
    const second = await up({ env: { ...options().env, TEST_TOKEN: undefined } });
    expect(second.url).not.toBe(first.url);
    expect(journal().filter((line) => line.startsWith("join "))).toHaveLength(1);
    expect(JSON.parse(readFileSync(join(root, "data", "node", "node.json"), "utf8"))).toEqual({ url: second.url });
    expect(JSON.parse(readFileSync(join(root, "data", "cli.json"), "utf8"))).toEqual({
      url: second.url,
      token: "yao_admin",
    });
  });

  test("leaves another coordinator's login alone", async () => {
    mkdirSync(join(root, "data"));
    const other = JSON.stringify({ url: "https://mesh.example.com", token: "theirs" });
    writeFileSync(join(root, "data", "cli.json"), other);
    await up();
    expect(readFileSync(join(root, "data", "cli.json"), "utf8")).toBe(other);
  });

  test("starts a killed coordinator again on the same port", async () => {
    const system = await up();
    process.kill(pidOf("coordinator started"), "SIGKILL");
    await until(() => said.includes("the coordinator runs again"), { timeoutMs: 15_000 });
    expect(said[0]).toBe("the coordinator ended (killed by SIGKILL); starting it again");
    expect((await fetch(`${system.url}/v1/whoami`)).status).toBe(200);
  });

  test("names the process that holds the data directory", async () => {
    await up();
    await expect(startUp(options())).rejects.toThrow(`is in use by yao up (process ${process.pid})`);
  });

  test("names a taken port and the flag that helps", async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    const { port } = blocker.address() as { port: number };
    await expect(up({ grpcPort: port })).rejects.toThrow(
      `port ${port} (gRPC) is taken by another program — choose another with --grpc-port N, or --grpc-port 0 for any free one`,
    );
    blocker.close();
  });

  test("a coordinator that cannot start gives its reason, and nothing stays", async () => {
    const failing = up({ env: { ...options().env, TEST_REFUSE: "YAO_HTPP_PORT is not an option" } });
    await expect(failing).rejects.toThrow(
      "the coordinator could not start (exit code 1): YAO_HTPP_PORT is not an option",
    );
    expect(events().slice(-2)).toEqual(["nats stopped", "postgres stopped"]);
    await up();
  });

  test("a stop while it starts ends all", async () => {
    const stop = new AbortController();
    const starting = startUp(
      options({ programs: { ...options().programs, pushDemo: () => new Promise(() => undefined) } }),
      stop.signal,
    );
    await until(() => events().includes("coordinator started"), { timeoutMs: 15_000 });
    stop.abort();
    await expect(starting).rejects.toMatchObject({ code: "cancelled" });
    expect(events().at(-1)).toBe("postgres stopped");
  });
});
