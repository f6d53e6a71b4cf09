import { MeshError } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { Passwords, requirePassword } from "./password.ts";

const cheap = (): Passwords => new Passwords({ ln: 12, r: 8, p: 1 });
const PASSWORD = "correct horse battery";

describe("passwords", () => {
  test("the hash says its parameters, differs each time and opens for the right password only", async () => {
    const passwords = cheap();
    const [first, second] = [await passwords.hash(PASSWORD), await passwords.hash(PASSWORD)];
    expect(first).toMatch(/^scrypt\$ln=12,r=8,p=1\$[\w-]{22}\$[\w-]{43}$/);
    expect(first).not.toBe(second);
    expect(await passwords.verify(PASSWORD, first)).toBe(true);
    expect(await passwords.verify(`${PASSWORD} `, first)).toBe(false);
  });

  test("by default N is 2^17, and a hash made at another cost still opens", async () => {
    const passwords = new Passwords();
    expect(await passwords.hash(PASSWORD)).toMatch(/^scrypt\$ln=17,r=8,p=1\$/);
    expect(await passwords.verify(PASSWORD, await cheap().hash(PASSWORD))).toBe(true);
  });

  test("the same letters composed otherwise are the same password", async () => {
    const passwords = cheap();
    expect(await passwords.verify("cafe\u0301 au lait", await passwords.hash("caf\u00e9 au lait"))).toBe(true);
  });

  test("P2: no account opens for nothing, even the zeros it is compared with, and costs a whole hash", async () => {
    const slow = new Passwords({ ln: 16, r: 8, p: 1 });
    const stored = await slow.hash(PASSWORD);
    const timed = async (hash: string | undefined): Promise<number> => {
      const start = performance.now();
      expect(await slow.verify("wrong password", hash)).toBe(false);
      return performance.now() - start;
    };
    const [known, unknown] = [await timed(stored), await timed(undefined)];
    expect(unknown).toBeGreaterThan(known / 4);
    for (const damaged of ["", "plain", "scrypt$ln=30,r=8,p=1$AAAA$AAAA", stored.slice(0, -5)]) {
      expect(await cheap().verify(PASSWORD, damaged)).toBe(false);
    }
  });

  test("P1: two are computed at once, others wait, and past the bound they are told when to come back", async () => {
    const passwords = cheap();
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.verify(PASSWORD, undefined)));
    const refused = results.flatMap((result) => (result.status === "rejected" ? [MeshError.from(result.reason)] : []));
    expect(refused.length).toBe(60 - 2 - 32);
    expect(refused[0]).toMatchObject({ code: "resource_exhausted", details: { retry_after_seconds: 5 } });
    expect(await passwords.verify(PASSWORD, await passwords.hash(PASSWORD))).toBe(true);
  });

  test.each([
    ["nine char", false],
    ["ten chars.", true],
    ["x".repeat(200), true],
    ["x".repeat(201), false],
  ])("%j is long enough and not too long: %s", (password, isRight) => {
    const check = (): void => requirePassword(password);
    if (isRight) expect(check).not.toThrow();
    else expect(check).toThrow("10 to 200 characters");
  });
});
