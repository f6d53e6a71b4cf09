import { Writable } from "node:stream";

import { systemClock, systemIds, until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Cli } from "../cli.ts";
import { readCliOptions } from "../config.ts";
import { runProgram } from "../program.ts";
import { openTerminal } from "../terminal/terminal.ts";
import { runJson, StubGateway } from "../testing/stub-gateway.ts";

let gateway: StubGateway;

beforeEach(async () => {
  gateway = await new StubGateway().start();
});
afterEach(() => gateway.stop());

/** The surroundings of a command that writes to nobody. */
function surroundings(interrupts: Cli["interrupts"]): Cli {
  const sink = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    terminal: openTerminal({ stdin: process.stdin, stdout: sink(), stderr: sink() }, {}),
    interrupts,
    clock: systemClock,
    ids: systemIds(),
    options: readCliOptions({ YAO_URL: gateway.url, YAO_TOKEN: "yao_test", YAO_HOME: "/nonexistent" }),
    env: {},
    self: { execPath: "", execArgv: [], script: "", tellParent: undefined },
  };
}

test("somebody listens for interrupts at every moment from the request to the end of the run", async () => {
  const run = gateway.addRun({ id: "run_1", state: "running", events: [] });
  gateway.route("POST", "/v1/workspaces/default/runs", () => ({ json: { run: runJson(run) } }));
  const listeners = new Set<object>();
  const changes: number[] = [];
  const interrupts: Cli["interrupts"] = {
    listen(listener) {
      listeners.add(listener);
      changes.push(listeners.size);
      return () => {
        listeners.delete(listener);
        changes.push(listeners.size);
      };
    },
  };
  const ended = runProgram(surroundings(interrupts), ["run", "hello", "hi"]);
  await until(() => gateway.openStreams === 1);
  gateway.finish(run, "succeeded");
  expect(await ended).toBe(0);
  // A process without a listener loses a signal, or dies of it and leaves the run.
  expect(changes).toEqual([1, 2, 1, 0]);
});
