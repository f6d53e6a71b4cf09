/** The systemd units, by systemd itself where it is installed. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import { DEPLOY, isInstalled, read, skipReason } from "./repository.ts";

const scratch = mkdtempSync(join(tmpdir(), "yao-systemd-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("systemd units", () => {
  const units = readdirSync(join(DEPLOY, "systemd")).filter((name) => name.endsWith(".service"));
  const missing = isInstalled("systemd-analyze", "--version") ? undefined : "systemd-analyze is not installed";

  test.each(units)("%s passes systemd-analyze verify", (unit) => {
    if (skipReason(missing, `verify ${unit}`)) return;
    // The command of the unit is not installed here; verify wants it to exist.
    const path = join(scratch, unit);
    writeFileSync(path, read(`deploy/systemd/${unit}`).replaceAll("/usr/local/bin/yao", process.execPath));
    const result = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
    expect(`${result.stdout}${result.stderr}`).toBe("");
    expect(result.status).toBe(0);
  });

  test.each(units)("%s does not forbid what V8 needs and lets the process stop its own children", (unit) => {
    const settings = settingsOf(read(`deploy/systemd/${unit}`));
    expect(settings.get("MemoryDenyWriteExecute")).toBeUndefined();
    expect(settings.get("KillMode")).toBe("mixed");
    expect(settings.get("NoNewPrivileges")).toBe("yes");
    expect(settings.get("User")).not.toBe("root");
    expect(settings.get("StateDirectory")).toBe(settings.get("User"));
  });

  test("a removed node is not started again", () => {
    expect(settingsOf(read("deploy/systemd/yao-node.service")).get("RestartPreventExitStatus")).toBe("77");
  });
});

function settingsOf(unit: string): Map<string, string> {
  return new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map((match) => [match[1] ?? "", match[2] ?? ""]));
}
