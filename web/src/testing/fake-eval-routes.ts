/** The calls about evals that the fake coordinator answers. */

import type { Eval, EvalResult } from "@mesh/proto";

import { briefOf } from "./fake-evals.ts";
import { type Answer, type FakeState, type Query, Refusal } from "./fake-state.ts";

type Row = readonly [
  verb: string,
  pattern: RegExp,
  handler: (s: FakeState, path: readonly string[], q: Query) => Answer,
];

type Cases = readonly Readonly<Record<string, unknown>>[];

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function evalOf({ evals }: FakeState, id: string): Eval {
  const known = evals.evals.get(id);
  if (known === undefined) throw new Refusal(404, "not_found", `eval ${id} was not found`);
  return known;
}

function refuseWithoutId(cases: Cases, at: number): void {
  const errors = cases.flatMap((each, index) =>
    typeof each["name"] === "number" ? [{ field: `cases.${at + index}`, message: "name must be a text" }] : [],
  );
  if (errors.length > 0) throw new Refusal(400, "invalid_argument", "the cases are refused", { errors });
}

function create(state: FakeState, query: Query): Answer {
  const cases = (query["cases"] ?? []) as Cases;
  refuseWithoutId(cases, 0);
  const { assistant, name, placement, settings } = query as unknown as Eval;
  const isDraft = query["draft"] === true;
  return {
    eval: state.evals.add({ assistant, name, placement, settings, state: isDraft ? "draft" : "running" }, cases),
  };
}

function addCases(state: FakeState, id: string, query: Query): Answer {
  const cases = (query["cases"] ?? []) as Cases;
  const at = Number(query["at"] ?? 0);
  const held = state.evals.cases.get(id) ?? [];
  if (at > held.length) throw new Refusal(412, "failed_precondition", `the next ones begin at ${held.length}`);
  refuseWithoutId(cases, at);
  held.splice(at, cases.length, ...cases);
  const known = evalOf(state, id);
  const counts = known.counts && { ...known.counts, total: held.length * Math.max(1, known.settings?.runs ?? 1) };
  state.evals.change(id, { cases: held.length, counts });
  return { cases: held.length };
}

function results(state: FakeState, id: string, query: Query): Answer {
  const after = Number(query["after_seq"] ?? 0);
  const size = Number(query["page_size"] ?? 0) || 100;
  const wanted = text(query["case_id"]);
  const found = (state.evals.results.get(id) ?? [])
    .filter(({ seq, case_id }) => seq > after && (wanted === "" || case_id === wanted))
    .slice(0, size);
  const shown: EvalResult[] = query["brief"] === "true" ? found.map(briefOf) : found;
  return { results: shown, next_after_seq: found.at(-1)?.seq ?? 0 };
}

/** All of them. */
export const EVAL_ROUTES: readonly Row[] = [
  [
    "GET",
    /^\/v1\/evals$/,
    ({ evals }, _path, query) => {
      const { state, assistant } = query;
      const all = [...evals.evals.values()].toReversed();
      const fits = (one: Eval): boolean =>
        (text(state) === "" || one.state === state) && (text(assistant) === "" || one.assistant === assistant);
      return { evals: all.filter(fits), next_page_token: "" };
    },
  ],
  [
    "POST",
    /^\/v1\/evals\/plan$/,
    ({ evals }, _path, query) => {
      const { nodes = [] } = (query["placement"] ?? {}) as { nodes?: readonly string[] };
      const chosen = evals.nodes.map((node) =>
        nodes.length === 0 || nodes.includes(node.node_id)
          ? node
          : { ...node, state: "unfit", reason: "it is not among the chosen devices" },
      );
      return { nodes: chosen, units: Number(query["cases"] ?? 0) * Number(query["runs"] ?? 1) };
    },
  ],
  ["POST", /^\/v1\/evals$/, (state, _path, query) => create(state, query)],
  ["POST", /^\/v1\/evals\/([^/]+)\/cases$/, (state, [id = ""], query) => addCases(state, id, query)],
  [
    "GET",
    /^\/v1\/evals\/([^/]+)\/cases$/,
    (state, [id = ""], query) => {
      const at = Number(query["at"] ?? 0);
      const size = Number(query["page_size"] ?? 0) || 100;
      return { cases: (state.evals.cases.get(id) ?? []).slice(at, at + size) };
    },
  ],
  [
    "POST",
    /^\/v1\/evals\/([^/]+)\/start$/,
    (state, [id = ""]) => ({ eval: state.evals.change(id, { state: "running" }) }),
  ],
  [
    "POST",
    /^\/v1\/evals\/([^/]+)\/cancel$/,
    (state, [id = ""]) => ({ eval: state.evals.change(id, { state: "cancelling" }) }),
  ],
  [
    "POST",
    /^\/v1\/evals\/([^/]+)\/resume$/,
    (state, [id = ""], query) => {
      const { counts } = evalOf(state, id);
      if (query["retry_errors"] !== true || counts === undefined) {
        return { eval: state.evals.change(id, { state: "running" }) };
      }
      const log = state.evals.results.get(id) ?? [];
      const flipped = log.map((one) => (one.status === "error" ? { ...one, observation: true } : one));
      state.evals.results.set(id, flipped);
      const observations = counts.observations + counts.errors;
      return { eval: state.evals.change(id, { state: "running", counts: { ...counts, errors: 0, observations } }) };
    },
  ],
  ["GET", /^\/v1\/evals\/([^/]+)\/results$/, (state, [id = ""], query) => results(state, id, query)],
  ["GET", /^\/v1\/evals\/([^/]+)$/, (state, [id = ""]) => ({ eval: evalOf(state, id) })],
  [
    "DELETE",
    /^\/v1\/evals\/([^/]+)$/,
    (state, [id = ""]) => {
      state.evals.evals.delete(id);
      return {};
    },
  ],
];
