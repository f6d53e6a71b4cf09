/** `yao nats config`: what a NATS server of one's own needs to carry a mesh. */

import { resolve } from "node:path";

import type { Command } from "commander";

import { type CommonFlags, print } from "../cli.ts";
import { type Builder, group, leaf, whole } from "../command.ts";

interface ConfigFlags extends CommonFlags {
  readonly host?: string;
  readonly port?: number;
  readonly websocketPort?: number;
  readonly store?: string;
}

/** The group. */
export function natsCommand(builder: Builder): Command {
  return group("nats", "Configure a NATS server of your own.", [configCommand(builder)]);
}

function configCommand(builder: Builder): Command {
  return leaf<ConfigFlags>(builder, {
    name: "config <dir>",
    text: "Write a trust directory and a nats-server configuration that uses it. Existing keys are kept.",
    examples: ["yao nats config /etc/yao-nats --host 0.0.0.0 --store /var/lib/nats"],
    flags: [
      { flags: "--host <address>", text: "address both listeners bind (default: 127.0.0.1)" },
      { flags: "--port <number>", text: "client port (default: 7402)", parse: whole(1, 65_535) },
      { flags: "--websocket-port <number>", text: "WebSocket port (default: 7403)", parse: whole(1, 65_535) },
      { flags: "--store <dir>", text: "directory of JetStream's files (default: DIR/store)" },
    ],
    action: async (cli, args, flags) => {
      const { createTrust, writeServerConfig } = await import("@mesh/bus");
      const dir = resolve(args[0] ?? ".");
      const trustDir = resolve(dir, "trust");
      const { host = "127.0.0.1", port = 7402, websocketPort = 7403 } = flags;
      const config = await writeServerConfig(createTrust(trustDir, cli.clock), {
        dir,
        storeDir: resolve(flags.store ?? `${dir}/store`),
        port,
        websocketPort,
        host,
      });
      const settings = {
        YAO_NATS_URL: `nats://${host}:${port}`,
        YAO_NATS_TRUST_DIR: trustDir,
        YAO_NATS_WS: `${host}:${websocketPort}`,
      };
      print(cli, flags, { config, ...settings }, () =>
        [
          `start the server with: nats-server -c ${config}`,
          "give each coordinator (with a copy of the trust directory, which is secret):",
          ...Object.entries(settings).map(([name, value]) => `  ${name}=${value}`),
          "",
        ].join("\n"),
      );
      return undefined;
    },
  });
}
