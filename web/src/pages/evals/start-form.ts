/** What a person fills in to start an eval, and what it is as a request. Pure. */

import type { EvalPlacement, EvalSettings } from "@mesh/proto";

/** Placements, the default first. */
export const MODES = ["spread", "each", "mirror", "sticky"] as const;

/** The fields as they are typed. */
export interface StartForm {
  readonly assistant: string;
  readonly name: string;
  readonly runs: string;
  readonly parallel: string;
  readonly timeoutSeconds: string;
  readonly connector: string;
  readonly failFast: boolean;
  readonly perMinute: string;
  readonly mode: (typeof MODES)[number];
  readonly copies: string;
  /** At most so many devices; empty for all. */
  readonly maxNodes: string;
  /** Ids of devices; none for all. */
  readonly nodes: readonly string[];
}

/** The form before anything is filled in. */
export const EMPTY_FORM: StartForm = {
  assistant: "",
  name: "",
  runs: "1",
  parallel: "1",
  timeoutSeconds: "120",
  connector: "",
  failFast: false,
  perMinute: "",
  mode: "spread",
  copies: "2",
  maxNodes: "",
  nodes: [],
};

/** The placement as the coordinator takes it. */
export function placementOf({ mode, copies, maxNodes, nodes }: StartForm): EvalPlacement {
  return {
    mode,
    copies: mode === "mirror" ? wholeOf(copies, 2, 16) : 0,
    max_nodes: maxNodes === "" ? 0 : wholeOf(maxNodes, 1, 1_000),
    nodes: [...nodes],
    labels: {},
  };
}

/** The settings as the coordinator takes them; what is left out is as it is by default. */
export function settingsOf(form: StartForm): EvalSettings {
  return {
    runs: runsOf(form),
    parallel: wholeOf(form.parallel, 1, 64),
    timeout_ms: wholeOf(form.timeoutSeconds, 1, 86_400) * 1_000,
    fail_fast: form.failFast,
    connector: form.connector,
    requests_per_minute: form.perMinute === "" ? 0 : wholeOf(form.perMinute, 1, 1_000_000),
    user: "",
    team: "",
    locale: "",
    simulator: "",
    before_all: "",
    after_all: "",
    context: undefined,
  };
}

/** How often each case runs. */
export function runsOf({ runs }: StartForm): number {
  return wholeOf(runs, 1, 100);
}

function wholeOf(text: string, min: number, max: number): number {
  const value = Math.round(Number(text));
  return Number.isNaN(value) ? min : Math.min(max, Math.max(min, value));
}
