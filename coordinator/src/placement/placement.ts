/**
 * Chooses a node for a run, and says why. Pure: no I/O, no clock.
 *
 * P1  A run that names a device is never placed elsewhere.
 * P2  A node is chosen only when it is not offline, not draining, allowed for the workspace, fits every demand and has a free slot.
 * P3  The same input gives the same choice.
 * P4  Labels are set by people and decide access; facts are claims of the device and decide fit only.
 * P5  A run that goes on is placed on the device that holds its files, or waits for it; only when it may do without them, and
 *     the device is away, it goes elsewhere.
 */

/** What a run demands of a node. Empty strings and lists demand nothing. */
export interface Requirements {
  /** Id of a device. */
  readonly nodeId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly arch: string;
  readonly tools: readonly string[];
  /** Where a run that goes on has its files. */
  readonly home?: Home;
}

/** The device that holds the files of a run. */
export interface Home {
  readonly nodeId: string;
  /** The run waits for it however long it is away. */
  readonly isOnly: boolean;
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
  const bound = boundTo(requirements, nodes);
  if (bound !== undefined)
    return placeNamed(
      workspaceId,
      requirements,
      nodes.find((node) => node.id === bound),
    );
  const fit: Candidate[] = [];
  const unfit: Candidate[] = [];
  const obstacles = new Set<Obstacle>();
  for (const node of nodes) {
    const found = obstacle(workspaceId, requirements, node);
    if (found === undefined) fit.push(node);
    else {
      unfit.push(node);
      obstacles.add(found);
    }
  }
  const chosen = fit.reduce<Candidate | undefined>(
    (best, node) => (best === undefined || better(node, best) < 0 ? node : best),
    undefined,
  );
  // The chosen one first: it must not be among those that are left out.
  const judged = [...(chosen === undefined ? [] : [chosen]), ...fit.filter((node) => node !== chosen), ...unfit];
  const verdicts = judged
    .slice(0, MAX_VERDICTS)
    .map((node) => verdict(node, obstacleText(workspaceId, requirements, node), node === chosen));
  if (chosen === undefined) return { kind: "wait", reason: waitReason(requirements, obstacles), verdicts };
  const rivals = fit.length === 1 ? "the only node that fits" : `best of ${fit.length} nodes that fit`;
  return {
    kind: "place",
    nodeId: chosen.id,
    node: chosen.name,
    summary: `${chosen.name}: ${rivals} (${free(chosen)} of ${chosen.slots} slots free)`,
    verdicts,
  };
}

/** How many runs with these demands could be placed now. */
export function capacityFor(workspaceId: string, requirements: Requirements, nodes: readonly Candidate[]): number {
  const bound = boundTo(requirements, nodes);
  return nodes
    .filter((node) => bound === undefined || node.id === bound)
    .filter((node) => obstacle(workspaceId, requirements, node) === undefined)
    .reduce((sum, node) => sum + free(node), 0);
}

/** The one device a run may be placed on: the one it names, or the one with its files. */
function boundTo({ nodeId, home }: Requirements, nodes: readonly Candidate[]): string | undefined {
  if (nodeId !== "") return nodeId;
  if (home === undefined || home.isOnly) return home?.nodeId;
  const isThere = nodes.some((node) => node.id === home.nodeId && node.status !== "offline");
  return isThere ? home.nodeId : undefined;
}

function placeNamed(workspaceId: string, requirements: Requirements, node: Candidate | undefined): Decision {
  if (node === undefined) return { kind: "wait", reason: "waiting for a device that was removed", verdicts: [] };
  const found = obstacle(workspaceId, requirements, node);
  const text = obstacleText(workspaceId, requirements, node);
  const verdicts = [verdict(node, text, found === undefined)];
  if (found === undefined) {
    const summary = `${node.name}: ${requirements.home === undefined ? "named by the run" : "holds this run's files"}`;
    return { kind: "place", nodeId: node.id, node: node.name, summary, verdicts };
  }
  const device = `${node.name}${requirements.home === undefined ? "" : ", which holds this run's files"}`;
  const reason = found === "offline" ? `waiting for device ${device}` : `waiting for device ${device}: ${text}`;
  return { kind: "wait", reason, verdicts };
}

type Obstacle = "workspace" | "labels" | "fit" | "offline" | "draining" | "slots";

// In the order a person would ask: may it, can it, is it there, has it room. Asked for every node and run, so it makes no text.
function obstacle(workspaceId: string, requirements: Requirements, node: Candidate): Obstacle | undefined {
  if (node.workspaceIds.length > 0 && !node.workspaceIds.includes(workspaceId)) return "workspace";
  for (const key in requirements.labels) if (node.labels[key] !== requirements.labels[key]) return "labels";
  if (unfitness(requirements, node) !== undefined) return "fit";
  if (node.status === "offline") return "offline";
  if (node.draining) return "draining";
  return free(node) <= 0 ? "slots" : undefined;
}

function obstacleText(workspaceId: string, requirements: Requirements, node: Candidate): string | undefined {
  switch (obstacle(workspaceId, requirements, node)) {
    case "workspace":
      return "does not serve this workspace";
    case "labels": {
      const [key, value] = Object.entries(requirements.labels).find(([k, v]) => node.labels[k] !== v) ?? ["", ""];
      return labelText(key, value, node.labels[key]);
    }
    case "fit":
      return unfitness(requirements, node);
    case "offline":
      return node.lastSeenAt === undefined ? "never seen" : `offline since ${node.lastSeenAt}`;
    case "draining":
      return "draining";
    case "slots":
      return node.slots === 1 ? "its only slot is in use" : `all ${node.slots} slots in use`;
    case undefined:
      return undefined;
  }
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

function waitReason(requirements: Requirements, obstacles: ReadonlySet<Obstacle>): string {
  if (obstacles.size === 0) return "no device has joined yet; add one with: yao node token create";
  const has = (kind: Obstacle): boolean => obstacles.has(kind);
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
