import { expect, test } from "vitest";

import { SharedRead } from "./shared-read.ts";

function recorded(): { read: SharedRead<string, string>; calls: string[][]; release: () => void } {
  const calls: string[][] = [];
  let open: () => void = () => undefined;
  const read = new SharedRead<string, string>(
    (key) => key,
    async (keys) => {
      calls.push([...keys]);
      await new Promise<void>((resolve) => (open = resolve));
      if (keys.includes("bad")) throw new Error("refused");
      return new Map(keys.filter((key) => key !== "absent").map((key) => [key, `row ${key}`]));
    },
  );
  return { read, calls, release: () => open() };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("reads of one moment share one statement, equal keys one place in it", async () => {
  const { read, calls, release } = recorded();
  const results = Promise.all([read.get("a"), read.get("b"), read.get("a"), read.get("absent")]);
  await turn();
  release();
  expect(await results).toEqual(["row a", "row b", "row a", undefined]);
  expect(calls).toEqual([["a", "b", "absent"]]);
});

test("R1: a read asked for while a statement is under way is not answered by it", async () => {
  const { read, calls, release } = recorded();
  const first = read.get("a");
  await turn();
  const second = read.get("a");
  await turn();
  expect(calls).toEqual([["a"], ["a"]]);
  release();
  await turn();
  release();
  expect(await second).toBe("row a");
  void first;
});

test("a failure reaches those who shared the statement, and nobody later", async () => {
  const { read, release } = recorded();
  const failing = Promise.allSettled([read.get("bad"), read.get("a")]);
  await turn();
  release();
  expect((await failing).map((result) => result.status)).toEqual(["rejected", "rejected"]);
  const later = read.get("a");
  await turn();
  release();
  expect(await later).toBe("row a");
});
