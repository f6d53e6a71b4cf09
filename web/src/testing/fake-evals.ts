/** Evals as the fake coordinator knows them, and how they change. */

import type { Eval, EvalNode, EvalResult, EvalSettings } from "@mesh/proto";

const AT = "2026-11-30T12:00:00.000Z";

/** What followers are told. */
export type FakeEvalEvent =
  | { readonly kind: "result"; readonly value: EvalResult }
  | { readonly kind: "eval"; readonly value: Eval };

/** A device's part in an eval. */
export function fakeEvalNode(given: Partial<EvalNode> = {}): EvalNode {
  return {
    node_id: "node_1",
    name: "laptop",
    os: "linux",
    arch: "x64",
    state: "active",
    reason: "",
    slots: 4,
    running: 0,
    passed: 0,
    failed: 0,
    errors: 0,
    timeouts: 0,
    skipped: 0,
    infra_errors: 0,
    ...given,
  };
}

const SETTINGS: EvalSettings = {
  runs: 1,
  parallel: 1,
  timeout_ms: 120_000,
  fail_fast: false,
  connector: "",
  user: "",
  team: "",
  locale: "",
  simulator: "",
  before_all: "",
  after_all: "",
  context: undefined,
  requests_per_minute: 0,
};

/** What a device that takes no part is. */
const SERVER = fakeEvalNode({ node_id: "node_2", name: "server", state: "offline", reason: "offline since yesterday" });

/** See the file comment. */
export class FakeEvals {
  readonly evals = new Map<string, Eval>();
  readonly cases = new Map<string, Readonly<Record<string, unknown>>[]>();
  readonly results = new Map<string, EvalResult[]>();
  /** Devices that a plan and a new eval tell of. */
  nodes: EvalNode[] = [fakeEvalNode(), SERVER];
  onEvent: (id: string, event: FakeEvalEvent) => void = () => undefined;
  #count = 0;

  /** Adds an eval with cases case-1, case-2, …, unless they are given. */
  add(given: Partial<Eval> = {}, cases?: readonly Readonly<Record<string, unknown>>[]): Eval {
    this.#count += 1;
    const id = given.id ?? `eval_${this.#count}`;
    const count = cases?.length ?? given.cases ?? 3;
    const runs = given.settings?.runs ?? 1;
    const fresh: Eval = {
      id,
      workspace_id: "ws_1",
      name: `Eval ${this.#count}`,
      assistant: "helper",
      app: "demo",
      bundle_digest: "d1",
      state: "running",
      reason: "",
      placement: { mode: "spread", copies: 1, max_nodes: 0, nodes: [], labels: {} },
      counts: {
        total: count * runs,
        passed: 0,
        failed: 0,
        errors: 0,
        timeouts: 0,
        skipped: 0,
        running: 0,
        observations: 0,
      },
      nodes: this.nodes,
      suite: "s1",
      last_seq: 0,
      usage: {},
      warnings: [],
      created_by: "ada",
      created_at: AT,
      started_at: AT,
      ...given,
      settings: { ...SETTINGS, ...given.settings },
      cases: count,
    };
    const written =
      cases ?? Array.from({ length: count }, (_none, index) => ({ id: `case-${index + 1}`, input: "Hi" }));
    this.evals.set(id, fresh);
    this.cases.set(id, [...written]);
    this.results.set(id, []);
    return fresh;
  }

  /** Changes an eval and tells who follows. */
  change(id: string, change: Partial<Eval>): Eval {
    const before = this.evals.get(id);
    if (before === undefined) throw new Error(`no eval ${id}`);
    const after = { ...before, ...change };
    this.evals.set(id, after);
    this.onEvent(id, { kind: "eval", value: after });
    return after;
  }

  /** Ends an eval, after its results. */
  end(id: string, state = "ended"): void {
    this.change(id, { state, finished_at: AT });
  }

  /** Adds a result to the log and tells who follows. */
  result(id: string, given: Partial<EvalResult> & { readonly ordinal: number }, details: object = {}): EvalResult {
    const results = this.results.get(id) ?? [];
    const case_id = String(this.cases.get(id)?.[given.ordinal]?.["id"]);
    const { run = 1, status = "passed" } = given;
    const result: EvalResult = {
      seq: results.length + 1,
      case_id,
      run,
      copy: 1,
      status,
      node_id: "node_1",
      node: "laptop",
      attempt: 0,
      observation: false,
      duration_ms: 100,
      created_at: AT,
      ...given,
      result: { id: case_id, run, status, input: "Hi", output: "Hello", hash: "h", ...details },
    };
    results.push(result);
    this.results.set(id, results);
    this.#tally(id, result);
    this.onEvent(id, { kind: "result", value: result });
    return result;
  }

  #tally(id: string, { status, observation, seq }: EvalResult): void {
    const known = this.evals.get(id);
    if (known?.counts === undefined) return;
    const name = { passed: "passed", failed: "failed", error: "errors", timeout: "timeouts", skipped: "skipped" }[
      status
    ];
    const key = observation ? "observations" : name;
    const counts = key === undefined ? known.counts : { ...known.counts, [key]: known.counts[key as "passed"] + 1 };
    this.evals.set(id, { ...known, counts, last_seq: seq });
  }
}

/** A result without what it said and did. */
export function briefOf(result: EvalResult): EvalResult {
  const { input: _input, output: _output, trace: _trace, ...rest } = result.result ?? {};
  return { ...result, result: rest };
}
