import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { expect, test } from "vitest";

import { LoginThrottle } from "./login-throttle.ts";

/** How many of `count` tries pass. */
function passed(count: number, attempt: (n: number) => void): number {
  let passes = 0;
  for (let n = 0; n < count; n += 1) {
    try {
      attempt(n);
      passes += 1;
    } catch (thrown) {
      expect(MeshError.from(thrown)).toMatchObject({
        code: "resource_exhausted",
        details: { retry_after_seconds: expect.any(Number) },
      });
    }
  }
  return passes;
}

test("T1: guessing one name from one address is slowed down, whatever its case, and goes on after a while", async () => {
  const clock = new FakeClock();
  const throttle = new LoginThrottle(clock);
  expect(passed(20, (n) => throttle.tryPassword(n % 2 === 0 ? "ada" : "ADA", "10.0.0.1"))).toBe(5);
  await clock.advance(20_000);
  expect(passed(20, () => throttle.tryPassword("ada", "10.0.0.1"))).toBe(1);
});

test("T1: guessing one name from many addresses, and many names from one, has an end too", () => {
  const throttle = new LoginThrottle(new FakeClock());
  expect(passed(200, (n) => throttle.tryPassword("ada", `10.0.0.${n}`))).toBe(50);
  expect(passed(200, (n) => throttle.tryPassword(`user${n}`, "10.9.9.9"))).toBe(50);
});

test("T2: who guesses locks nobody out elsewhere, and no one-time link", () => {
  const throttle = new LoginThrottle(new FakeClock());
  passed(200, () => throttle.tryPassword("ada", "10.0.0.1"));
  expect(passed(1, () => throttle.tryPassword("ada", "10.0.0.2"))).toBe(1);
  expect(passed(1, () => throttle.tryPassword("bob", "10.0.0.2"))).toBe(1);
  expect(passed(1, () => throttle.tryCode("10.0.0.2"))).toBe(1);
});

test("T3: log-ins that succeed count for nothing", () => {
  const throttle = new LoginThrottle(new FakeClock());
  expect(passed(300, () => throttle.tryPassword("ada", "10.0.0.1")())).toBe(300);
});
