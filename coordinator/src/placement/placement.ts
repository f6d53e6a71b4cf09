/**
 * Chooses a node for a run, and says why. Pure: no I/O, no clock.
 *
 * P1  A run that names a device is never placed elsewhere.
 * P2  A node is chosen only when it is not offline, not draining, allowed for the workspace, fits every demand and has a free slot.
 * P3  The same input gives the same choice.
 * P4  Labels are set by people and decide access; facts are claims of the device and decide fit only.
 */

/** What a run demands of a node. Empty strings and lists demand nothing. */
export interface Requirements {
  /** Id of a device. */
  readonly nodeId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly arch: string;
  readonly tools: readonly string[];
}

/** A node as placement sees it. */
export interface Candidate {
  readonly id: string;
  readonly name: string;
  readonly status: "online" | "suspect" | "offline";
  /** RFC 3339; absent when never seen. */
  readonly lastSeenAt: string | undefined;
  readonly draining: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly arch: string;
  readonly tools: ReadonlySet<string>;
  readonly slots: number;
  readonly slotsUsed: number;
  /** Workspaces it may serve; empty means all. */
  readonly workspaceIds: readonly string[];
  /** It took work lately without starting it: others are tried first. */
  readonly penalized: boolean;
}

/** Why one node was or was not chosen. */
export interface Verdict {
  readonly nodeId: string;
  readonly node: string;
  readonly eligible: boolean;
  readonly reason: string;
}

/** The outcome for one run. */
export type Decision =
  | {
      readonly kind: "place";
      readonly nodeId: string;
      readonly node: string;
      readonly summary: string;
      readonly verdicts: readonly Verdict[];
    }
  | { readonly kind: "wait"; readonly reason: string; readonly verdicts: readonly Verdict[] };

/** Reasons kept per decision: enough to explain, bounded for fleets. */
const MAX_VERDICTS = 20;

/** Decides where a run of `workspaceId` goes. */
export function place(workspaceId: string, requirements: Requirements, nodes: readonly Candidate[]): Decision {
  const named = requirements.nodeId === "" ? undefined : nodes.find((node) => node.id === requirements.nodeId);
  if (requirements.nodeId !== "") return placeNamed(workspaceId, requirements, named);
  const judged = nodes.map((node) => ({ node, obstacle: obstacle(workspaceId, requirements, node) }));
  const fit = judged.filter((entry) => entry.obstacle === undefined).map((entry) => entry.node);
  const chosen = fit.toSorted(better)[0];
  const verdicts = judged
    .map(({ node, obstacle: found }) => verdict(node, found?.text, node === chosen))
    .toSorted((a, b) => Number(b.eligible) - Number(a.eligible))
    .slice(0, MAX_VERDICTS);
  if (chosen === undefined)
    return {
      kind: "wait",
      reason: waitReason(
        requirements,
        judged.map((entry) => entry.obstacle),
      ),
      verdicts,
    };
  const rivals = fit.length === 1 ? "the only node that fits" : `best of ${fit.length} nodes that fit`;
  return {
    kind: "place",
    nodeId: chosen.id,
    node: chosen.name,
    summary: `${chosen.name}: ${rivals} (${free(chosen)} of ${chosen.slots} slots free)`,
    verdicts,
  };
}

function placeNamed(workspaceId: string, requirements: Requirements, node: Candidate | undefined): Decision {
  if (node === undefined) return { kind: "wait", reason: "waiting for a device that was removed", verdicts: [] };
  const found = obstacle(workspaceId, requirements, node);
  const verdicts = [verdict(node, found?.text, found === undefined)];
  if (found === undefined) {
    return { kind: "place", nodeId: node.id, node: node.name, summary: `${node.name}: named by the run`, verdicts };
  }
  const reason =
    found.kind === "offline" ? `waiting for device ${node.name}` : `waiting for device ${node.name}: ${found.text}`;
  return { kind: "wait", reason, verdicts };
}

interface Obstacle {
  readonly kind: "workspace" | "labels" | "fit" | "offline" | "draining" | "slots";
  readonly text: string;
}

// In the order a person would ask: may it, can it, is it there, has it room.
function obstacle(workspaceId: string, requirements: Requirements, node: Candidate): Obstacle | undefined {
  if (node.workspaceIds.length > 0 && !node.workspaceIds.includes(workspaceId)) {
    return { kind: "workspace", text: "does not serve this workspace" };
  }
  const missing = Object.entries(requirements.labels).find(([key, value]) => node.labels[key] !== value);
  if (missing !== undefined)
    return { kind: "labels", text: labelText(missing[0], missing[1], node.labels[missing[0]]) };
  const unfit = unfitness(requirements, node);
  if (unfit !== undefined) return { kind: "fit", text: unfit };
  if (node.status === "offline") {
    return { kind: "offline", text: node.lastSeenAt === undefined ? "never seen" : `offline since ${node.lastSeenAt}` };
  }
  if (node.draining) return { kind: "draining", text: "draining" };
  if (free(node) <= 0) return { kind: "slots", text: `all ${node.slots} slots in use` };
  return undefined;
}

function unfitness(requirements: Requirements, node: Candidate): string | undefined {
  if (requirements.os !== "" && requirements.os !== node.os) return `os is ${node.os}, not ${requirements.os}`;
  if (requirements.arch !== "" && requirements.arch !== node.arch)
    return `arch is ${node.arch}, not ${requirements.arch}`;
  const tool = requirements.tools.find((name) => !node.tools.has(name));
  return tool === undefined ? undefined : `${tool} was not found on it`;
}

function labelText(key: string, wanted: string, actual: string | undefined): string {
  return actual === undefined ? `label ${key}=${wanted} missing` : `label ${key} is ${actual}, not ${wanted}`;
}

function verdict(node: Candidate, text: string | undefined, chosen: boolean): Verdict {
  const reason = text ?? `${chosen ? "chosen: " : ""}${free(node)} of ${node.slots} slots free`;
  return { nodeId: node.id, node: node.name, eligible: text === undefined, reason };
}

function free(node: Candidate): number {
  return node.slots - node.slotsUsed;
}

// Healthy before suspect or penalized, then the emptiest by share, then by count, then a stable order.
function better(a: Candidate, b: Candidate): number {
  return (
    Number(a.penalized) - Number(b.penalized) ||
    Number(a.status === "suspect") - Number(b.status === "suspect") ||
    a.slotsUsed / a.slots - b.slotsUsed / b.slots ||
    free(b) - free(a) ||
    (a.id < b.id ? -1 : 1)
  );
}

function waitReason(requirements: Requirements, obstacles: readonly (Obstacle | undefined)[]): string {
  if (obstacles.length === 0) return "no device has joined yet; add one with: yao node token create";
  const has = (kind: Obstacle["kind"]): boolean => obstacles.some((found) => found?.kind === kind);
  if (has("slots")) return "waiting for a free slot: all slots of the devices that fit are in use";
  if (has("draining")) return "waiting: the devices that fit are draining";
  if (has("offline")) return `waiting for a device${demands(requirements)} to come online`;
  if (has("labels") || has("fit")) return `no device matches${demands(requirements)}`;
  return "no device serves this workspace";
}

function demands(requirements: Requirements): string {
  const parts = [
    ...Object.entries(requirements.labels).map(([key, value]) => `${key}=${value}`),
    ...(requirements.os === "" ? [] : [`os ${requirements.os}`]),
    ...(requirements.arch === "" ? [] : [`arch ${requirements.arch}`]),
    ...requirements.tools.map((tool) => `tool ${tool}`),
  ];
  return parts.length === 0 ? "" : ` with ${parts.join(", ")}`;
}
