/** Clients whose processes are functions of the test. */

import type { Json } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";

import { McpClients, type McpClientsOptions } from "../clients.ts";

/** A process of a test. */
export type TestProcess = (args: readonly Json[], caller: string, signal: AbortSignal) => unknown;

/** What was called, in order. */
export interface ProcessCall {
  readonly name: string;
  readonly args: readonly Json[];
  readonly caller: string;
}

/** Clients, the calls they made, and the clock they wait on. */
export interface ProcessFixture {
  readonly clients: McpClients<string>;
  readonly calls: ProcessCall[];
  readonly clock: FakeClock;
}

/** Makes clients over named functions. */
export function processFixture(
  processes: Readonly<Record<string, TestProcess>>,
  options: McpClientsOptions = {},
): ProcessFixture {
  const calls: ProcessCall[] = [];
  const clock = new FakeClock();
  const clients = new McpClients<string>(
    {
      clock,
      env: {},
      fetch: () => Promise.reject(new Error("no network here")),
      clientInfo: { name: "test", version: "1" },
      callProcess: async (name, args, caller, signal) => {
        calls.push({ name, args, caller });
        const process = processes[name];
        if (process === undefined) throw new Error(`no process ${name}`);
        return process(args, caller, signal);
      },
    },
    options,
  );
  return { clients, calls, clock };
}
