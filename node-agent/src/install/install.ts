/** Writes a service description for the device's own service manager; enabling it stays the user's choice. */

import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";

import { MeshError } from "@mesh/kernel";

/** What to install. */
export interface InstallOptions {
  readonly dataDir: string;
  /** Only return the text. */
  readonly dryRun: boolean;
  /** Program and arguments that run the agent in the foreground. */
  readonly command: readonly string[];
  /** Search path the agent gets; a service manager's own is too short to find the device's tools. */
  readonly path: string;
  readonly platform?: NodeJS.Platform;
  readonly home?: string;
}

/** A written service description. */
export interface InstalledUnit {
  readonly path: string;
  readonly text: string;
  /** Commands the user may type to enable it, in order. */
  readonly enableCommands: readonly string[];
}

const UNIT = "yao-node.service";
const LABEL = "com.yao.node";

/** Makes the systemd user unit or launchd agent for this device. */
export function writeUnit(options: InstallOptions): InstalledUnit {
  const unit = describe({ ...options, dataDir: resolve(options.dataDir) });
  if (!options.dryRun) {
    mkdirSync(dirname(unit.path), { recursive: true });
    writeFileSync(unit.path, unit.text, { mode: 0o644 });
  }
  return unit;
}

function describe(options: InstallOptions): InstalledUnit {
  const home = options.home ?? homedir();
  const platform = options.platform ?? process.platform;
  if (platform === "linux") return systemd(options, home);
  if (platform === "darwin") return launchd(options, home);
  throw new MeshError(
    "unimplemented",
    `this system has no service description yet; start the agent at login with: ${options.command.join(" ")}`,
  );
}

function systemd(options: InstallOptions, home: string): InstalledUnit {
  const text = `[Unit]
Description=Yao Mesh node agent
Documentation=https://yaoagents.com/docs
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${options.command.map(systemdWord).join(" ")}
Environment=${systemdWord(`YAO_NODE_DATA=${options.dataDir}`)}
Environment=${systemdWord(`PATH=${options.path}`)}
Restart=always
RestartSec=2
# 77: the device was removed from the mesh; 78: it must be updated. Starting again cannot help.
RestartPreventExitStatus=77 78
KillMode=mixed
TimeoutStopSec=20
NoNewPrivileges=true

[Install]
WantedBy=default.target
`;
  return {
    path: join(home, ".config/systemd/user", UNIT),
    text,
    enableCommands: [
      "systemctl --user daemon-reload",
      `systemctl --user enable --now ${UNIT}`,
      "loginctl enable-linger   # keeps it running after you log out",
    ],
  };
}

// Inside double quotes systemd expands %, $ and backslash.
function systemdWord(word: string): string {
  const escaped = word.replace(/[\\"]/g, "\\$&").replace(/%/g, "%%").replace(/\$/g, "$$$$");
  return `"${escaped}"`;
}

function launchd(options: InstallOptions, home: string): InstalledUnit {
  const path = join(home, "Library/LaunchAgents", `${LABEL}.plist`);
  const log = join(options.dataDir, "agent.log");
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${options.command.map((word) => `    <string>${xml(word)}</string>`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>YAO_NODE_DATA</key>
    <string>${xml(options.dataDir)}</string>
    <key>PATH</key>
    <string>${xml(options.path)}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>StandardOutPath</key>
  <string>${xml(log)}</string>
  <key>StandardErrorPath</key>
  <string>${xml(log)}</string>
</dict>
</plist>
`;
  return { path, text, enableCommands: [`launchctl bootstrap gui/$(id -u) ${shellWord(path)}`] };
}

function shellWord(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function xml(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
