import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bundleApp } from "@mesh/assistants";
import { FakeClock } from "@mesh/kernel/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

import { EvalHosts, type HostLease, type HostRecipe } from "./eval-hosts.ts";

let root = "";
let dir = "";
let clock: FakeClock;
let hosts: EvalHosts;
let read: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "yao-hosts-"));
  dir = join(root, "hosts");
  clock = new FakeClock();
  hosts = new EvalHosts({ clock, dir, log: (text) => expect.unreachable(text) });
  read = 0;
});
afterEach(async () => {
  await hosts[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true });
});

const encoder = new TextEncoder();
const BUNDLE = bundleApp(
  new Map(
    Object.entries({
      "app.yao": '{"name":"Test"}',
      "assistants/echo/package.yao": '{"name":"Echo","connector":"demo"}',
      "assistants/echo/prompts.yml": "- role: system\n  content: Repeat.\n",
      "evals/files/a/b.txt": "b",
    }).map(([path, text]) => [path, encoder.encode(text)]),
  ),
).bytes;

function recipe(key: string): HostRecipe {
  const bundle = (): Promise<Uint8Array> => {
    read += 1;
    return Promise.resolve(BUNDLE);
  };
  return { key, bundle, env: {}, variables: {}, version: "0" };
}

const folders = (): readonly string[] => (existsSync(dir) ? readdirSync(dir) : []);

test("batches of one eval share a host, with the files of its cases and the assistants that help", async () => {
  const [one, two] = await Promise.all([hosts.lease(recipe("a")), hosts.lease(recipe("a"))]);
  expect(two.host).toBe(one.host);
  expect(readFileSync(join(one.baseDir, "a/b.txt"), "utf8")).toBe("b");
  expect([...one.host.app.assistants.keys()]).toEqual(expect.arrayContaining(["echo", "tests.validator-agent"]));
  await one.release(false);
  await two.release(false);
  const later = await hosts.lease(recipe("a"));
  expect(later.host).toBe(one.host);
  expect(read).toBe(1);
  await later.release(false);
});

test("one that nobody wants for a while is removed with its files, and so is one that is over", async () => {
  await (await hosts.lease(recipe("a"))).release(false);
  await (await hosts.lease(recipe("b"))).release(true);
  expect(folders()).toHaveLength(1);
  await clock.advance(59_000);
  expect(hosts.size).toBe(1);
  await clock.advance(2_000);
  await hosts[Symbol.asyncDispose]();
  expect([hosts.size, existsSync(dir)]).toEqual([0, false]);
});

test("one that is over stays while another batch works on it", async () => {
  const [one, two] = [await hosts.lease(recipe("a")), await hosts.lease(recipe("a"))];
  await one.release(true);
  expect([hosts.size, existsSync(two.baseDir)]).toEqual([1, true]);
  await two.release(true);
  expect([hosts.size, folders()]).toEqual([0, []]);
});

test("only a few are kept without work; those used last", async () => {
  const leases: HostLease[] = [];
  for (let i = 0; i < 7; i += 1) leases.push(await hosts.lease(recipe(`${i}`)));
  expect(hosts.size).toBe(7);
  for (const lease of leases) await lease.release(false);
  expect([hosts.size, folders().length]).toEqual([4, 4]);
  const newest = await hosts.lease(recipe("6"));
  expect(newest.host).toBe(leases[6]?.host);
  await newest.release(false);
});

test("a bundle that cannot be read is not kept", async () => {
  const broken = { ...recipe("a"), bundle: () => Promise.resolve(encoder.encode("no bundle")) };
  await expect(hosts.lease(broken)).rejects.toMatchObject({ code: "invalid_argument" });
  expect(hosts.size).toBe(0);
  await (await hosts.lease(recipe("a"))).release(true);
});
