import { MeshError, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { type Exit, type Instance, type Part, Supervised } from "./supervised.ts";

interface Fake extends Instance<number> {
  end(exit: Exit): void;
}

function fake(ready: number): Fake {
  let end: (exit: Exit) => void = () => undefined;
  const exited = new Promise<Exit>((resolve) => (end = resolve));
  return {
    ready,
    exited,
    end,
    stop: () => Promise.resolve(end({ code: 0, signal: null })),
    kill: () => end({ code: null, signal: "SIGKILL" }),
  };
}

function supervise(part: Partial<Part<number>>) {
  const clock = new FakeClock();
  const instances: Fake[] = [];
  const said: string[] = [];
  const start = () => {
    instances.push(fake(instances.length));
    return Promise.resolve(instances.at(-1)!);
  };
  const supervised = new Supervised({ name: "part", start, ...part }, { clock, say: (line) => said.push(line) });
  const stop = new AbortController();
  const running = supervised.run(stop.signal);
  return { clock, instances, said, supervised, stop, running };
}

test("a first start that fails is final", async () => {
  const { supervised, running } = supervise({ start: () => Promise.reject(new MeshError("unavailable", "no room")) });
  await expect(running).rejects.toThrow("no room");
  await expect(supervised.first).rejects.toThrow("no room");
});

test("a part that crashes is started again, later each time, until it is told to stop", async () => {
  const { clock, instances, said, stop, running } = supervise({});
  const delays: number[] = [];
  for (let crash = 1; crash <= 4; crash += 1) {
    await until(() => instances.length === crash);
    instances.at(-1)!.end({ code: 1, signal: null });
    await until(() => said.length === crash * 2 - 1);
    const before = clock.now();
    await until(
      async () => {
        await clock.advance(25);
        return instances.length === crash + 1;
      },
      { everyMs: 1 },
    );
    delays.push(clock.now() - before);
  }
  expect(said[0]).toBe("part ended (exit code 1); starting it again");
  expect(said[1]).toBe("part runs again");
  expect(Math.max(...delays)).toBeLessThanOrEqual(2050);
  expect(delays.at(-1)).toBeGreaterThan(500);
  stop.abort();
  await running;
  expect(await instances.at(-1)!.exited).toEqual({ code: 0, signal: null });
});

test("a final end is told once and nothing is started again", async () => {
  const { clock, instances, said, stop, running } = supervise({
    finalReason: (exit) => (exit.code === 77 ? "this device was removed" : undefined),
  });
  await until(() => instances.length === 1);
  instances[0]?.end({ code: 77, signal: null });
  await until(() => said.length === 1);
  await clock.advance(60_000);
  expect(instances).toHaveLength(1);
  expect(said).toEqual(["this device was removed"]);
  stop.abort();
  await running;
});

test("a part that is killed stays down without a word", async () => {
  const { clock, instances, said, supervised, stop, running } = supervise({});
  await until(() => instances.length === 1);
  supervised.kill();
  await clock.advance(60_000);
  expect(instances).toHaveLength(1);
  expect(said).toEqual([]);
  stop.abort();
  await running;
});

test("a restart goes without delay and without a complaint", async () => {
  const { instances, said, supervised, stop, running } = supervise({});
  await until(() => instances.length === 1);
  await supervised.restart();
  await until(() => instances.length === 2);
  expect(said).toEqual(["part runs again"]);
  stop.abort();
  await running;
});
