import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

const SCRIPT = resolve(import.meta.dirname, "../../deploy/install-nats.sh");
// What the script may use of the machine; everything else is a fake in a directory of the test.
const REAL = [
  "sh",
  "cut",
  "env",
  "mktemp",
  "rm",
  "mkdir",
  "cp",
  "chmod",
  "mv",
  "tar",
  "gzip",
  "sed",
  "sha256sum",
  "cat",
];

let dir: string;
let bin: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-install-"));
  bin = join(dir, "bin");
  mkdirSync(bin);
  for (const name of REAL) {
    const found = ["/usr/bin", "/bin", "/usr/local/bin"].map((at) => join(at, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  machine("Linux", "x86_64", 1000);
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** A command that logs its arguments, then runs `body`. */
function fake(name: string, body = "exit 0"): void {
  const path = join(bin, name);
  rmSync(path, { force: true });
  writeFileSync(path, `#!/bin/sh\necho "${name} $*" >> ${JSON.stringify(join(dir, "calls"))}\n${body}\n`);
  chmodSync(path, 0o755);
}

function machine(os: string, arch: string, uid: number): void {
  fake("uname", `case "$1" in -s) echo ${os} ;; -m) echo ${arch} ;; esac`);
  fake("id", `echo ${uid}`);
}

function calls(): string[] {
  const path = join(dir, "calls");
  const lines = existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  return lines.filter((line) => !/^(uname|id) /.test(line));
}

function install(
  args: string[] = [],
  env: Record<string, string> = {},
): { code: number | null; out: string; err: string } {
  const ended = spawnSync("/bin/sh", [SCRIPT, ...args], {
    encoding: "utf8",
    env: { PATH: bin, HOME: dir, YAO_NATS_IGNORE_SYSTEM: "yes", ...env },
  });
  return { code: ended.status, out: ended.stdout, err: ended.stderr };
}

/** Makes `curl` deliver a release archive; returns its checksum. */
function release(version: string, platform: string): string {
  const name = `nats-server-v${version}-${platform}`;
  mkdirSync(join(dir, name));
  writeFileSync(join(dir, name, "nats-server"), "#!/bin/sh\necho fake\n");
  const archive = join(dir, "release.tar.gz");
  expect(spawnSync("tar", ["-czf", archive, "-C", dir, name]).status).toBe(0);
  fake("curl", `while [ "$1" != --output ]; do shift; done; cp ${JSON.stringify(archive)} "$2"`);
  return createHash("sha256").update(readFileSync(archive)).digest("hex");
}

/** Shell text that puts a nats-server into the fake machine. */
function installsServer(): string {
  return `printf '#!/bin/sh\n' > ${bin}/nats-server; chmod 755 ${bin}/nats-server`;
}

test("an installed nats-server is left alone", () => {
  fake("nats-server");
  fake("apt-get");
  const { code, out } = install();
  expect(code).toBe(0);
  expect(out).toContain(`nats-server is installed: ${bin}/nats-server`);
  expect(calls()).toEqual([]);
});

test("root on Debian uses apt-get", () => {
  machine("Linux", "x86_64", 0);
  fake("apt-get", `[ "$1" = install ] && { ${installsServer()}; }; exit 0`);
  const { code, out } = install();
  expect(code).toBe(0);
  expect(out).toContain("installed by apt-get");
  expect(calls()).toEqual(["apt-get update -qq", "apt-get install -y --no-install-recommends nats-server"]);
});

test("a user on Debian goes through sudo when it asks nothing", () => {
  fake("apt-get", `[ "$1" = install ] && { ${installsServer()}; }; exit 0`);
  fake("sudo", `[ "$1" = -n ] && shift; [ "$1" = true ] && exit 0; exec "$@"`);
  expect(install().code).toBe(0);
  expect(calls()).toContain("apt-get install -y --no-install-recommends nats-server");
});

test("a user without sudo gets the upstream release", () => {
  fake("apt-get", "exit 9");
  const { out, code } = install(["--dry-run"], {});
  expect(code).toBe(1);
  expect(out).toBe("");
  fake("curl");
  const retry = install(["--dry-run"]);
  expect(retry.code).toBe(0);
  expect(retry.out).toMatch(/would run: curl .*nats-server-v[\d.]+-linux-amd64\.tar\.gz/);
  expect(retry.out).toMatch(/would check: sha256 [0-9a-f]{64}/);
  expect(retry.out).toContain(`would install: ${dir}/.yao/bin/nats-server`);
  expect(calls()).toEqual([]);
});

test("a failing apt-get falls back to the release", () => {
  machine("Linux", "aarch64", 0);
  fake("apt-get", "exit 100");
  const sha256 = release("9.9.9", "linux-arm64");
  const pinned = install();
  expect(pinned.out).toContain("taking the upstream release");
  // The archive of this test is not the pinned one, and must be refused.
  expect(pinned.code).toBe(1);
  expect(pinned.err).toMatch(/checksum of .* expected [0-9a-f]{64}; nothing was installed/);
  expect(existsSync(join(dir, ".yao/bin/nats-server"))).toBe(false);
  const chosen = install([], { YAO_NATS_VERSION: "9.9.9", YAO_NATS_SHA256: sha256 });
  expect(chosen.code).toBe(0);
  expect(chosen.out).toContain(`${dir}/.yao/bin/nats-server`);
  expect(spawnSync(join(dir, ".yao/bin/nats-server"), { encoding: "utf8" }).stdout).toBe("fake\n");
  expect(install().out).toContain("nats-server is installed");
});

test("macOS uses Homebrew", () => {
  machine("Darwin", "arm64", 501);
  fake("brew", installsServer());
  const { code, out } = install();
  expect(code).toBe(0);
  expect(out).toContain("installed by brew");
  expect(calls()).toEqual(["brew install nats-server"]);
});

test("without a known checksum nothing is downloaded, and the exact steps are printed", () => {
  machine("Darwin", "arm64", 501);
  fake("curl");
  const { code, err } = install();
  expect(code).toBe(1);
  expect(err).toMatch(/SHA256SUMS/);
  expect(err).toMatch(/YAO_NATS_SHA256=<checksum of nats-server-v[\d.]+-darwin-arm64\.tar\.gz>/);
  expect(calls()).toEqual([]);
});

test("a platform without a release, and a wrong argument, are told so", () => {
  machine("Linux", "sparc64", 1000);
  expect(install().err).toMatch(/no release for sparc64; install nats-server 2\.9 or newer by hand/);
  expect(install(["--force"]).err).toMatch(/unknown argument --force; usage/);
});

test("a dry run changes nothing", () => {
  machine("Linux", "x86_64", 0);
  fake("apt-get");
  const { code, out } = install(["--dry-run"]);
  expect(code).toBe(0);
  expect(out).toMatch(/would run: .*apt-get install -y --no-install-recommends nats-server/);
  expect(calls()).toEqual([]);
});
