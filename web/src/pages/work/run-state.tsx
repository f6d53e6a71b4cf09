/** The state of a task's or run's work, as word, icon and colour. */

import type { ReactNode } from "react";

import type { IconName } from "../../ui/icon.tsx";
import { Badge, type Tone } from "../../ui/state.tsx";
import { useText } from "./text.ts";

const STATES = {
  idle: ["plain", "circle"],
  blocked: ["warn", "lock"],
  queued: ["plain", "clock"],
  placed: ["plain", "clock"],
  accepted: ["info", "play"],
  running: ["info", "play"],
  waiting: ["warn", "question"],
  succeeded: ["good", "check"],
  failed: ["danger", "warning"],
  cancelled: ["plain", "stop"],
  lost: ["danger", "warning"],
} as const satisfies Readonly<Record<string, readonly [Tone, IconName]>>;

/** Names of the states. */
export type RunState = keyof typeof STATES;

/** The state that a text names; `idle` for what is not known yet. */
export function runStateOf(name: string): RunState {
  return name in STATES ? (name as RunState) : "idle";
}

/** All states that a task can be in, for filters. */
export const TASK_STATES = [
  "idle",
  "blocked",
  "queued",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
  "lost",
] as const;

/** Whether a run of this state goes on. */
export function isActive(state: string): boolean {
  return ["queued", "placed", "accepted", "running", "waiting"].includes(state);
}

/** The badge of a state. */
export function RunStateBadge({ state }: { readonly state: string }): ReactNode {
  const say = useText();
  const known = runStateOf(state);
  const [tone, icon] = STATES[known];
  return (
    <Badge tone={tone} icon={icon}>
      {say(known)}
    </Badge>
  );
}

/** Priorities, the lowest first. */
export const PRIORITIES = ["none", "low", "medium", "high", "urgent"] as const;

/** The priority that a text names. */
export function priorityOf(name: string): (typeof PRIORITIES)[number] {
  return PRIORITIES.find((priority) => priority === name) ?? "none";
}
