#!/usr/bin/env node
/** The `yao` command: wires the process to the program and ends with its exit code. */

import { fileURLToPath } from "node:url";

import { systemClock, systemIds } from "@mesh/kernel";

import { readCliOptions } from "./config.ts";
import { runProgram } from "./program.ts";
import { interruptsOf } from "./terminal/interrupt.ts";
import { openTerminal } from "./terminal/terminal.ts";

const LINGER_MS = 2000;

const terminal = openTerminal(process, { NO_COLOR: process.env["NO_COLOR"] });

async function main(): Promise<number> {
  const send = process.send?.bind(process);
  return await runProgram(
    {
      terminal,
      interrupts: interruptsOf(process),
      clock: systemClock,
      ids: systemIds(),
      options: readCliOptions(process.env),
      env: process.env,
      self: {
        execPath: process.execPath,
        execArgv: process.execArgv,
        script: fileURLToPath(import.meta.url),
        // A parent that has gone meanwhile is no error.
        tellParent:
          send === undefined ? undefined : (message) => void send(message, undefined, undefined, () => undefined),
      },
    },
    process.argv.slice(2),
  );
}

process.exitCode = await main().catch((error: unknown) => {
  terminal.err(`yao: ${error instanceof Error ? error.message : String(error)}\n`);
  return 1;
});
if (terminal.closed.aborted) process.exitCode = 141;
// A channel to a parent, or a socket that lingers, must not keep a finished command alive.
if (process.connected) process.disconnect();
setTimeout(() => process.exit(), LINGER_MS).unref();
