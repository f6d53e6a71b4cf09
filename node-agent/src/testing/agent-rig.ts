/** A real agent as a process of its own, against a real nats-server and a scripted coordinator. For tests. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nodeDigest } from "@mesh/bus";
import type { TestNats } from "@mesh/bus/testing";

import { writeNodeFile } from "../join/node-file.ts";
import { loadOrCreateKey } from "../join/node-key.ts";
import { programOf } from "../program.ts";
import { CoordinatorStub } from "./coordinator-stub.ts";

/** See the file comment. */
export class AgentRig implements AsyncDisposable {
  readonly stub: CoordinatorStub;
  readonly dataDir: string;
  readonly #agents: ChildProcess[] = [];

  private constructor(dataDir: string, stub: CoordinatorStub) {
    this.dataDir = dataDir;
    this.stub = stub;
  }

  /** A device that has joined, and the other end of its wire. */
  static async open(nats: TestNats): Promise<AgentRig> {
    const dataDir = mkdtempSync(join(tmpdir(), "yao-agent-"));
    const key = loadOrCreateKey(dataDir);
    const digest = nodeDigest(key.nkey);
    const { jwt, expiresAt } = await nats.trust.issueNode({ nkey: key.nkey, digest, ttlMs: 3_600_000 });
    writeNodeFile(dataDir, {
      url: "http://127.0.0.1:9",
      node_id: "node_1",
      name: "stub",
      digest,
      jwt,
      issued_at: new Date().toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
      nats_urls: [nats.server.url],
      nats_path: "/nats",
      slots: 0,
    });
    const stub = new CoordinatorStub({ bus: await nats.connect(), admin: nats.admin, digest });
    await stub.start();
    return new AgentRig(dataDir, stub);
  }

  /** Starts an agent from its sources. */
  async start(env: Record<string, string> = {}, module = "../main"): Promise<ChildProcess> {
    const program = programOf(module, import.meta.url);
    return await this.launch([...program.execArgv, program.path], env);
  }

  /** Starts one with these arguments of Node; resolves when it is ready. */
  async launch(args: readonly string[], env: Record<string, string> = {}): Promise<ChildProcess> {
    const agent = spawn(process.execPath, args, {
      env: { ...process.env, YAO_NODE_DATA: this.dataDir, YAO_NODE_LOG_LEVEL: "silent", ...env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#agents.push(agent);
    await new Promise<void>((resolve, reject) => {
      agent.once("message", () => resolve());
      agent.once("exit", (code) => reject(new Error(`agent exited with ${code}`)));
    });
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#agents.splice(0).map((agent) => kill(agent, "SIGKILL")));
    await this.stub.stop();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

/** Ends a process and gives its exit code. */
export async function kill(agent: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (agent.exitCode !== null || agent.signalCode !== null) return agent.exitCode;
  const exited = new Promise<number | null>((resolve) => agent.once("exit", (code) => resolve(code)));
  agent.kill(signal);
  return await exited;
}

/** Processes whose parent is this one. */
export function childrenOf({ pid }: ChildProcess): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

/** Whether a process is there and has not ended. */
export function isAlive(pid: number): boolean {
  try {
    // A process that ended and was not collected yet is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
