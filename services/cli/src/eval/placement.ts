/** Where an eval runs, as flags say it. Pure. */

import type { EvalPlacement } from "@mesh/proto";
import { InvalidArgumentError } from "commander";

/** Flags of placement. */
export interface PlacementFlags {
  readonly nodes?: string;
  readonly spread?: boolean;
  readonly each?: boolean;
  readonly mirror?: number;
  readonly sticky?: boolean;
}

/** Whether these flags want devices at all. */
export function wantsDevices({ nodes, spread, each, mirror, sticky }: PlacementFlags): boolean {
  return nodes !== undefined || spread === true || each === true || mirror !== undefined || sticky === true;
}

/** The placement; throws for flags that exclude each other. */
export function placementOf(flags: PlacementFlags): EvalPlacement {
  const modes = [
    ...(flags.spread === true ? ["spread"] : []),
    ...(flags.each === true ? ["each"] : []),
    ...(flags.mirror === undefined ? [] : ["mirror"]),
    ...(flags.sticky === true ? ["sticky"] : []),
  ];
  if (modes.length > 1) {
    throw new InvalidArgumentError(`${modes.map((mode) => `--${mode}`).join(" and ")} exclude each other.`);
  }
  return { mode: modes[0] ?? "spread", copies: flags.mirror ?? 0, ...devicesOf(flags.nodes ?? "all") };
}

/** `all`, a number, names, or `label=KEY=VALUE`; labels and names may stand beside each other, with commas. */
function devicesOf(text: string): Pick<EvalPlacement, "max_nodes" | "nodes" | "labels"> {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  if (parts.length === 0) throw new InvalidArgumentError("--nodes must be all, a number, names or label=KEY=VALUE.");
  if (parts.length === 1 && parts[0] === "all") return { max_nodes: 0, nodes: [], labels: {} };
  if (parts.length === 1 && /^\d+$/.test(parts[0] ?? "")) {
    const count = Number(parts[0]);
    if (count >= 1 && count <= 1_000) return { max_nodes: count, nodes: [], labels: {} };
    throw new InvalidArgumentError(`--nodes ${text}: a number of devices is 1 to 1000.`);
  }
  const labels: Record<string, string> = {};
  const nodes: string[] = [];
  for (const part of parts) {
    const label = part.replace(/^label=/, "");
    const at = label.indexOf("=");
    if (at > 0) labels[label.slice(0, at)] = label.slice(at + 1);
    else if (label === part) nodes.push(part);
    else throw new InvalidArgumentError(`--nodes ${part}: a label is label=KEY=VALUE, such as label=site=home.`);
  }
  return { max_nodes: 0, nodes, labels };
}
