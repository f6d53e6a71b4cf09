import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { type McpSession, type SessionEvents, SessionLostError } from "./session.ts";
import { SessionKeeper } from "./session-keeper.ts";

const signal = new AbortController().signal;

function fakeSession(onClose: () => void): McpSession<string> {
  const refuse = (): Promise<never> => Promise.reject(new Error("not used"));
  return {
    list: refuse,
    callTool: refuse,
    readResource: refuse,
    getPrompt: refuse,
    close: () => {
      onClose();
      return Promise.resolve();
    },
  };
}

/** A keeper whose starts are counted and can be made to fail. */
function keeperOf(start?: (count: number) => Promise<void>): {
  keeper: SessionKeeper<string>;
  clock: FakeClock;
  seen: { starts: number; failures: number; closes: number; changed: string[]; events: SessionEvents | undefined };
} {
  const clock = new FakeClock();
  const seen = {
    starts: 0,
    failures: 0,
    closes: 0,
    changed: [] as string[],
    events: undefined as SessionEvents | undefined,
  };
  const keeper = new SessionKeeper<string>(
    "s",
    {
      clock,
      admit: () => Promise.resolve(),
      changed: (kind) => seen.changed.push(kind),
      log: (level) => {
        if (level === "warn") seen.failures += 1;
      },
      open: async (events) => {
        seen.starts += 1;
        seen.events = events;
        await start?.(seen.starts);
        return fakeSession(() => {
          seen.closes += 1;
        });
      },
    },
    60_000,
  );
  return { keeper, clock, seen };
}

test("K1: nothing runs until the first use, and uses at the same time share one start", async () => {
  const { keeper, seen } = keeperOf();
  expect([keeper.isRunning, seen.starts]).toEqual([false, 0]);
  await Promise.all([1, 2, 3].map(() => keeper.use(signal, () => Promise.resolve())));
  expect([keeper.isRunning, seen.starts]).toEqual([true, 1]);
});

test("K1: a use that gives up during the start does not end it for the others", async () => {
  let go: () => void = () => undefined;
  const { keeper, seen } = keeperOf(
    () =>
      new Promise((resolve) => {
        go = resolve;
      }),
  );
  const stop = new AbortController();
  const first = keeper.use(stop.signal, () => Promise.resolve(1));
  const second = keeper.use(signal, () => Promise.resolve(2));
  stop.abort();
  await expect(first).rejects.toMatchObject({ code: "cancelled" });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  go();
  expect([await second, seen.starts]).toEqual([2, 1]);
});

test("K2: the use after a death starts the server again", async () => {
  const { keeper, clock, seen } = keeperOf();
  await keeper.use(signal, () => Promise.resolve());
  seen.events?.died("exit code 1");
  expect([keeper.isRunning, seen.changed]).toEqual([false, ["all"]]);
  const again = keeper.use(signal, () => Promise.resolve("up"));
  await clock.advance(250);
  expect([await again, seen.starts]).toEqual(["up", 2]);
});

test("K2: a server that keeps failing is started less and less often, and its reason is told", async () => {
  const { keeper, clock, seen } = keeperOf(() => Promise.reject(new MeshError("unavailable", "no such program")));
  const attempt = async (): Promise<string> => {
    const state = { isOver: false };
    const tried = keeper
      .use(signal, () => Promise.resolve(""))
      .catch((error: Error) => error.message)
      .finally(() => {
        state.isOver = true;
      });
    do await clock.advance(2000);
    while (!state.isOver);
    return tried;
  };
  for (let round = 0; round < 40; round += 1) await attempt();
  expect(seen.starts).toBeLessThan(20);
  await keeper.use(signal, () => Promise.resolve()).catch(() => undefined);
  const message = await keeper.use(signal, () => Promise.resolve("")).catch((error: Error) => error.message);
  expect(message).toMatch(/failed \d+ times in a row and is started again in .* s\. Last failure: no such program/);
  const startsBefore = seen.starts;
  await clock.advance(31_000);
  await attempt();
  expect(seen.starts).toBe(startsBefore + 1);
});

test("K2: a death during the start is one failure, not two", async () => {
  const { keeper, seen } = keeperOf(() => {
    seen.events?.died("exit code 1");
    return Promise.reject(new MeshError("unavailable", "died"));
  });
  await expect(keeper.use(signal, () => Promise.resolve())).rejects.toThrow("died");
  expect(seen.failures).toBe(1);
});

test("K3: a use of a forgotten session is made once more on a new one, and only once", async () => {
  const { keeper, seen } = keeperOf();
  let tries = 0;
  const result = await keeper.use(signal, () => {
    tries += 1;
    return tries === 1 ? Promise.reject(new SessionLostError("lost")) : Promise.resolve("ok");
  });
  expect([result, tries, seen.starts, seen.closes]).toEqual(["ok", 2, 2, 1]);
  const always = keeper.use(signal, () => Promise.reject(new SessionLostError("lost")));
  await expect(always).rejects.toMatchObject({ code: "unavailable", message: /forgets each session/ });
});

test("K3: another failure is not repeated", async () => {
  const { keeper } = keeperOf();
  let tries = 0;
  const failing = keeper.use(signal, () => {
    tries += 1;
    return Promise.reject(new MeshError("unavailable", "died"));
  });
  await expect(failing).rejects.toThrow("died");
  expect(tries).toBe(1);
});

test("K4: an unused session ends, one in use does not", async () => {
  const { keeper, clock, seen } = keeperOf();
  let finish: () => void = () => undefined;
  const long = keeper.use(
    signal,
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  await clock.advance(120_000);
  expect([seen.closes, keeper.isBusy]).toEqual([0, true]);
  finish();
  await long;
  await clock.advance(59_000);
  expect(seen.closes).toBe(0);
  await clock.advance(2000);
  expect([seen.closes, keeper.isRunning]).toEqual([1, false]);
});

test("a closed keeper starts nothing and leaves no timer behind", async () => {
  const { keeper, clock, seen } = keeperOf();
  await keeper.use(signal, () => Promise.resolve());
  await keeper.close();
  await expect(keeper.use(signal, () => Promise.resolve())).rejects.toMatchObject({ code: "failed_precondition" });
  await clock.advance(120_000);
  expect([seen.starts, seen.closes]).toEqual([1, 1]);
});
