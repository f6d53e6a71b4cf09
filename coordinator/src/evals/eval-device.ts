/**
 * Which devices take part in an eval, and why others do not. Pure: no I/O, no clock.
 *
 * V1  A device takes part when it serves the workspace, is among those that the placement names, has its labels, is there, does not
 *     drain and is not quarantined.
 * V2  With a bound on their number, those that take part already stay; then the ones with the most slots come first.
 */

import type { Candidate } from "../placement/placement.ts";
import type { StoredEvalPlacement } from "./eval-row.ts";

/** A device as an eval sees it. */
export interface EvalDevice {
  readonly id: string;
  readonly name: string;
  readonly os: string;
  readonly arch: string;
  readonly state: "active" | "offline" | "draining" | "quarantined" | "unfit";
  /** Why it is not active; empty for an active one. */
  readonly reason: string;
  readonly slots: number;
  /** Slots that no run holds; never below 0. */
  readonly free: number;
}

/** What is asked. */
export interface DeviceQuestion {
  readonly workspaceId: string;
  /** Devices that the workspace lets its runs use; undefined means all. */
  readonly allowedIds: readonly string[] | undefined;
  readonly placement: StoredEvalPlacement;
  /** Why devices are quarantined, by id. */
  readonly quarantined?: ReadonlyMap<string, string>;
  /** Ids of devices that take part already. */
  readonly joined?: ReadonlySet<string>;
}

/** Judges all devices of the workspace; those that do not serve it are left out. */
export function judgeDevices(nodes: readonly Candidate[], question: DeviceQuestion): readonly EvalDevice[] {
  const { workspaceId, allowedIds, placement, joined = new Set() } = question;
  const served = nodes.filter(
    ({ id, workspaceIds }) =>
      (workspaceIds.length === 0 || workspaceIds.includes(workspaceId)) &&
      (allowedIds === undefined || allowedIds.includes(id)),
  );
  const judged = served.map((node) => judge(node, question));
  const max = placement.max_nodes;
  if (max === 0) return judged;
  const chosen = judged
    .filter(({ state }) => state === "active")
    .toSorted(
      (a, b) => Number(joined.has(b.id)) - Number(joined.has(a.id)) || b.slots - a.slots || (a.name < b.name ? -1 : 1),
    )
    .slice(0, max);
  const reason = `only ${max === 1 ? "one device takes" : `${max} devices take`} part, and others were chosen`;
  return judged.map((device) =>
    device.state !== "active" || chosen.includes(device) ? device : { ...device, state: "unfit", reason },
  );
}

/** Names and ids of a placement that no device of the list has. */
export function unknownNames(placement: StoredEvalPlacement, devices: readonly EvalDevice[]): readonly string[] {
  return placement.nodes.filter((ref) => !devices.some(({ id, name }) => id === ref || name === ref));
}

/** Why no device takes part, in words. */
export function waitingText(devices: readonly EvalDevice[]): string {
  const parts = (["offline", "draining", "quarantined"] as const).flatMap((state) => {
    const names = devices.filter((device) => device.state === state).map(({ name }) => name);
    if (names.length === 0) return [];
    const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
    return [`${names.slice(0, SHOWN).join(", ")}${more} ${names.length === 1 ? "is" : "are"} ${state}`];
  });
  if (parts.length > 0) return `waiting for a device: ${parts.join("; ")}`;
  return devices.length === 0
    ? "waiting for a device of this workspace; add one with: yao node token create"
    : "waiting for a device that fits; see: yao node list";
}

const SHOWN = 3;

function judge(node: Candidate, { placement, quarantined }: DeviceQuestion): EvalDevice {
  const { id, name, os, arch, slots } = node;
  const base = { id, name, os, arch, slots, free: Math.max(0, slots - node.slotsUsed) };
  const misfit = misfitOf(node, placement);
  if (misfit !== undefined) return { ...base, state: "unfit", reason: misfit };
  const odd = quarantined?.get(id);
  if (odd !== undefined) return { ...base, state: "quarantined", reason: odd };
  if (node.status === "offline") {
    const reason = node.lastSeenAt === undefined ? "never seen" : `offline since ${node.lastSeenAt}`;
    return { ...base, state: "offline", reason };
  }
  if (node.draining) return { ...base, state: "draining", reason: "draining" };
  return { ...base, state: "active", reason: "" };
}

function misfitOf({ id, name, labels }: Candidate, placement: StoredEvalPlacement): string | undefined {
  if (placement.nodes.length > 0 && !placement.nodes.includes(id) && !placement.nodes.includes(name)) {
    return "the placement does not name it";
  }
  for (const [key, wanted] of Object.entries(placement.labels)) {
    const actual = labels[key];
    if (actual === undefined) return `label ${key}=${wanted} missing`;
    if (actual !== wanted) return `label ${key} is ${actual}, not ${wanted}`;
  }
  return undefined;
}
