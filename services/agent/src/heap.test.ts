import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { systemClock } from "@mesh/kernel";
import { expect, test } from "vitest";

import { userMessage } from "./message.ts";
import { startRun } from "./run.ts";
import { ScriptedProvider, scriptedModel, scriptedTool } from "./testing/index.ts";

test("1,000 concurrent runs leave less than 4 KB each behind, at the best of three rounds", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const tools = [scriptedTool("t", () => "ok")];
  const one = (): Promise<unknown> =>
    startRun(
      [userMessage("go", 1)],
      {
        model: scriptedModel(),
        provider: new ScriptedProvider(
          { text: "a", calls: [{ name: "t", arguments: { n: 1 } }] },
          { calls: [{ name: "t", arguments: { n: 2 } }] },
          { text: "b" },
        ),
        clock: systemClock,
        tools,
      },
      { history: [], sink: () => undefined, signal: new AbortController().signal },
    );
  const retained: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    collect();
    const before = process.memoryUsage().heapUsed;
    await Promise.all(Array.from({ length: 1000 }, one));
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    retained.push((process.memoryUsage().heapUsed - before) / 1000);
  }
  expect(Math.min(...retained)).toBeLessThan(4096);
}, 30_000);
