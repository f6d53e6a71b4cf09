/** `yao version`. */

import { readFileSync } from "node:fs";

import { isObject } from "@mesh/kernel";
import type { Command } from "commander";

import { type CommonFlags, print } from "../cli.ts";
import { type Builder, leaf } from "../command.ts";

/** The command. */
export function versionCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "version",
    text: "Show the version of this command.",
    examples: ["yao version --json"],
    action: (cli, _args, flags) => {
      const version = packageVersion();
      const { node } = process.versions;
      const { platform, arch } = process;
      print(
        cli,
        flags,
        { version, node, os: platform, arch },
        () => `yao ${version} (node ${node}, ${platform} ${arch})\n`,
      );
      return undefined;
    },
  });
}

/** Version of this package; the same for src and dist, which are side by side. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return isObject(manifest) && typeof manifest["version"] === "string" ? manifest["version"] : "0.0.0";
}
