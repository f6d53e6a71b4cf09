/** The memory of a process started with `--inspect=127.0.0.1:0`: measured after what is garbage is gone. */

import { readFileSync } from "node:fs";

import { until } from "@mesh/kernel";
import { WebSocket } from "ws";

import type { ManagedProcess } from "./managed-process.ts";

/** Environment that lets a test look into a process. */
export const INSPECTED: Readonly<Record<string, string>> = { NODE_OPTIONS: "--inspect=127.0.0.1:0" };

/** A look into a process. */
export class InspectedProcess implements AsyncDisposable {
  readonly #process: ManagedProcess;
  readonly #socket: WebSocket;
  #id = 0;

  private constructor(process: ManagedProcess, socket: WebSocket) {
    this.#process = process;
    this.#socket = socket;
  }

  /** Connects; the process must have been started with {@link INSPECTED}. */
  static async open(process: ManagedProcess): Promise<InspectedProcess> {
    const url = await until(() => /ws:\/\/127\.0\.0\.1:\d+\/[\w-]+/.exec(process.output.join("\n"))?.[0], {
      what: "the address of the inspector",
    });
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return new InspectedProcess(process, socket);
  }

  /** Megabytes that stay resident after a collection. */
  async residentMb(): Promise<number> {
    await this.#call("HeapProfiler.collectGarbage");
    const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.#process.pid}/status`, "utf8"))?.[1];
    if (kb === undefined) throw new Error(`${this.#process.spec.name} tells no VmRSS`);
    return Number(kb) / 1024;
  }

  async #call(method: string): Promise<void> {
    const id = (this.#id += 1);
    const answered = new Promise<void>((resolve) => {
      const listen = (data: Buffer): void => {
        const message: unknown = JSON.parse(data.toString());
        if (typeof message !== "object" || message === null || !("id" in message) || message.id !== id) return;
        this.#socket.off("message", listen);
        resolve();
      };
      this.#socket.on("message", listen);
    });
    this.#socket.send(JSON.stringify({ id, method }));
    await answered;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#socket.terminate();
    return Promise.resolve();
  }
}
