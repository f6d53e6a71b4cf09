import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { writeUnit } from "./install.ts";

const base = {
  dataDir: "/home/a b/.yao/50%",
  command: ["/usr/bin/node", "/opt/yao $HOME/main.js"],
  path: "/usr/bin:/bin",
  home: "/home/a",
};

test("the systemd unit quotes what systemd would expand and does not restart a removed device", () => {
  const unit = writeUnit({ ...base, platform: "linux", dryRun: true });
  expect(unit.path).toBe("/home/a/.config/systemd/user/yao-node.service");
  expect(unit.text).toContain(String.raw`ExecStart="/usr/bin/node" "/opt/yao $$HOME/main.js"`);
  expect(unit.text).toContain('Environment="YAO_NODE_DATA=/home/a b/.yao/50%%"');
  expect(unit.text).toContain("RestartPreventExitStatus=77 78");
  expect(unit.enableCommands[1]).toBe("systemctl --user enable --now yao-node.service");
});

test("the launchd agent is escaped XML", () => {
  const unit = writeUnit({ ...base, command: ["/a&b"], platform: "darwin", dryRun: true });
  expect(unit.text).toContain("<string>/a&amp;b</string>");
  expect(unit.enableCommands[0]).toContain("launchctl bootstrap");
});

test("other systems are told what to do instead", () => {
  expect(() => writeUnit({ ...base, platform: "win32", dryRun: true })).toThrow(
    /start the agent at login with: \/usr\/bin\/node/,
  );
});

test("a dry run writes nothing, a real one writes the text it returns", () => {
  const home = mkdtempSync(join(tmpdir(), "yao-install-"));
  const dry = writeUnit({ ...base, home, platform: "linux", dryRun: true });
  expect(existsSync(dry.path)).toBe(false);
  const unit = writeUnit({ ...base, home, platform: "linux", dryRun: false });
  expect(readFileSync(unit.path, "utf8")).toBe(unit.text);
  rmSync(home, { recursive: true, force: true });
});
