import { expect, test } from "vitest";

import { Gate } from "./gate.ts";

/** Work that ends when told. */
function held(): { readonly work: () => Promise<string>; readonly end: () => void } {
  const { promise, resolve } = deferred();
  return { work: () => promise.then(() => "done"), end: resolve };
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

test("calls beyond a lane's share wait in order, other lanes do not, and too many are refused", async () => {
  const gate = new Gate({ maxRunning: 1, maxWaiting: 2 });
  const order: string[] = [];
  const first = held();
  const running = gate.run("a", first.work);
  const waiting = ["b", "c"].map((name) =>
    gate.run("a", async () => {
      order.push(name);
    }),
  );
  await expect(gate.run("a", async () => 1)).rejects.toMatchObject({ code: "resource_exhausted" });
  expect(await gate.run("other", async () => "free")).toBe("free");
  expect(order).toEqual([]);
  first.end();
  expect(await running).toBe("done");
  await Promise.all(waiting);
  expect(order).toEqual(["b", "c"]);
});

test("a failed call gives its place to the next", async () => {
  const gate = new Gate({ maxRunning: 1, maxWaiting: 5 });
  const failing = gate.run("a", () => Promise.reject(new Error("no")));
  const next = gate.run("a", async () => "next");
  await expect(failing).rejects.toThrow("no");
  expect(await next).toBe("next");
  expect(await gate.run("a", async () => "later")).toBe("later");
});
