import { expect, test } from "vitest";

import { RunGroup, type Service } from "./run-group.ts";
import { startStopStress } from "./testing/start-stop-stress.ts";

function service(name: string, log: string[], end?: Promise<void>): Service {
  return {
    name,
    async run(signal) {
      log.push(`start ${name}`);
      const stopped = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await (end === undefined ? stopped : Promise.race([stopped, end]));
      log.push(`stop ${name}`);
    },
  };
}

test("G3: services stop in reverse order, each after the one before", async () => {
  const log: string[] = [];
  const stop = new AbortController();
  const running = new RunGroup().add(service("a", log)).add(service("b", log)).add(service("c", log)).run(stop.signal);
  stop.abort();
  await running;
  expect(log).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
});

test("G1: the first end, even a clean one, stops the others", async () => {
  const log: string[] = [];
  await new RunGroup()
    .add(service("a", log))
    .add(service("b", log, Promise.resolve()))
    .run(new AbortController().signal);
  expect(log.toSorted()).toEqual(["start a", "start b", "stop a", "stop b"]);
});

test("G1 and G2: a failure is reported after all have ended", async () => {
  const log: string[] = [];
  const group = new RunGroup()
    .add(service("a", log))
    .add({ name: "bad", run: () => Promise.reject(new Error("broke")) });
  await expect(group.run(new AbortController().signal)).rejects.toThrow("broke");
  expect(log).toContain("stop a");
});

test("a service that does not stop delays the others by its grace only", async () => {
  const log: string[] = [];
  let release: () => void = () => undefined;
  const stubborn: Service = { name: "stubborn", run: () => new Promise((resolve) => (release = resolve)) };
  const stop = new AbortController();
  const running = new RunGroup({ graceMs: 20 }).add(service("a", log)).add(stubborn).run(stop.signal);
  stop.abort();
  while (!log.includes("stop a")) await new Promise((resolve) => setTimeout(resolve, 5));
  release();
  await running;
});

test("a group survives being stopped at any moment", async () => {
  await startStopStress(() => {
    const group = new RunGroup().add(service("a", [])).add(service("b", []));
    return { name: "group", run: (signal) => group.run(signal) };
  });
});
