import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { takeLock } from "./lock-file.ts";

let dir = "";
let path = "";

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-lock-"));
  path = join(dir, "yao.lock");
});

afterEach(() => rmSync(dir, { recursive: true }));

test("a held lock is refused to the next, who is told which process holds it, and is free after release", () => {
  const held = takeLock(path, "yao up");
  expect(() => takeLock(path, "yao up")).toThrow(`${dir} is in use by yao up (process ${process.pid})`);
  held.release();
  held.release();
  takeLock(path, "yao up").release();
  expect(existsSync(path)).toBe(false);
});

test("the lock of a dead owner and a torn lock file are taken over", async () => {
  const child = spawn("true");
  await once(child, "exit");
  writeFileSync(path, JSON.stringify({ pid: child.pid, started: "1", what: "ghost" }));
  takeLock(path, "me").release();
  writeFileSync(path, '{"pid":');
  takeLock(path, "me").release();
});

test("a recycled pid is not mistaken for the owner", () => {
  writeFileSync(path, JSON.stringify({ pid: process.pid, started: "1", what: "an earlier process" }));
  takeLock(path, "me").release();
});
