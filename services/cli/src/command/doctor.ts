/** `yao doctor`. */

import type { Command } from "commander";

import { type CommonFlags, print, targetOf } from "../cli.ts";
import { type Builder, leaf } from "../command.ts";
import { homeDirectory } from "../config.ts";
import { examine } from "../doctor/doctor.ts";
import { oneLine } from "../terminal/terminal.ts";

/** The command. */
export function doctorCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "doctor",
    text: "Check this device and its coordinator; exit code 1 when something fails.",
    examples: ["yao doctor", "yao doctor --json"],
    action: async (cli, _args, flags) => {
      const home = homeDirectory(flags.data, cli.options);
      const findings = await examine(cli, home, () => targetOf(cli, flags));
      const isWell = findings.every((finding) => finding.level !== "fail");
      print(cli, flags, { ok: isWell, findings }, () =>
        findings
          .map(({ level, what, text, advice }) => {
            const hint = advice === undefined ? "" : ` — ${advice}`;
            return `${level.padEnd(4)}  ${what.padEnd(12)}  ${oneLine(text + hint)}\n`;
          })
          .join(""),
      );
      return isWell ? 0 : 1;
    },
  });
}
