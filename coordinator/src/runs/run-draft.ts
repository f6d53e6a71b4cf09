/** A run that is about to be created. */

import { createHash } from "node:crypto";

import { canonicalJson } from "@mesh/kernel";

import type { StoredRequirements } from "./run-row.ts";
import type { OnLost } from "./run-state.ts";

/** Everything a new run is made of; ids and names are already resolved and allowed. */
export interface RunDraft {
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly appId: string;
  readonly appName: string;
  readonly appVersion: number;
  readonly bundleDigest: string;
  readonly input: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requirements: StoredRequirements;
  readonly onLost: OnLost;
  readonly priority: number;
  readonly timeoutMs: number;
  readonly queueTtlMs: number;
  readonly retryOf: string | undefined;
  readonly createdBy: string;
  /** Makes creation idempotent within `createdBy`. */
  readonly idempotencyKey: string;
  /** The task it works on. */
  readonly taskId?: string;
  /** The eval it is a batch of. */
  readonly evalId?: string;
}

/** How long a run may take, where nobody says. */
export const DEFAULT_TIMEOUT_S = 3600;
/** How long a run may wait for a device, where nobody says. */
export const DEFAULT_QUEUE_TTL_S = 86_400;
/** Input and options of a run together; leaves room for the workspace's connectors in a message of 1 MB. */
export const MAX_WORK_BYTES: number = 768 * 1024;

/** Runs with equal keys have equal demands: one placement decision serves them all. */
export function queueKeyOf(workspaceId: string, requirements: StoredRequirements): string {
  const { node_id, labels, os, arch, tools, home } = requirements;
  const demands = { workspaceId, node_id, labels, os, arch, tools: tools.toSorted() };
  const text = canonicalJson(home === undefined ? demands : { ...demands, home: { ...home } });
  return createHash("sha256").update(text).digest("hex").slice(0, 24);
}

/** What must be equal for a repeated idempotency key to mean the same request. */
export function requestHashOf(draft: RunDraft): string {
  const { workspaceId, assistantId, input, options, metadata, requirements, onLost, priority, timeoutMs } = draft;
  const text = canonicalJson({
    workspaceId,
    assistantId,
    input,
    options,
    metadata,
    requirements,
    onLost,
    priority,
    timeoutMs,
  });
  return createHash("sha256").update(text).digest("hex");
}
