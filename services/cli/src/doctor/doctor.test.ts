import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { systemIds, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { readCliOptions } from "../config.ts";
import { openTerminal } from "../terminal/terminal.ts";
import { checkNatsVersion, checkNode, examine } from "./doctor.ts";

test("a coordinator that takes connections and never answers is reported instead of waited for", async () => {
  let requests = 0;
  const hung = createServer(() => (requests += 1));
  await new Promise<void>((listening) => hung.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(hung.address() as AddressInfo).port}`;
  const clock = new FakeClock();
  const cli = {
    terminal: openTerminal(process, {}),
    interrupts: { listen: () => () => undefined },
    clock,
    ids: systemIds(),
    options: readCliOptions({ YAO_NATS_URL: "nats://127.0.0.1:1" }),
    env: {},
    self: { execPath: "", execArgv: [], script: "", tellParent: undefined },
  };
  try {
    const findings = examine(cli, "/nonexistent", () => ({ url, token: "t", workspace: "default" }));
    await until(() => requests === 1);
    await clock.advance(5000);
    expect((await findings).at(-1)).toMatchObject({
      level: "fail",
      what: "coordinator",
      text: expect.stringContaining("takes connections but gives no answer") as string,
    });
  } finally {
    hung.closeAllConnections();
    hung.close();
  }
});

test.each([
  ["20.19.0", "ok"],
  ["22.1.0", "ok"],
  ["20.18.3", "fail"],
  ["18.20.0", "fail"],
])("Node.js %s is %s", (version, level) => {
  expect(checkNode(version).level).toBe(level);
});

test.each([
  ["2.10.0", "ok"],
  ["3.0.1", "ok"],
  ["2.9.10", "warn"],
])("nats-server %s is %s", (version, level) => {
  expect(checkNatsVersion(version).level).toBe(level);
});
