/**
 * What a scripted model does in a run, as a path of its server: `/t<turns>d<deltas>c<calls>/v1`. Plain modules, as everything
 * that runs inside a measured process: no loader stands between Node and what is measured.
 */

/** One kind of run: turns that call tools, one last turn of text only. */
export class Scenario {
  /**
   * @param {string} title
   * @param {{ turns: number, deltas: number, calls?: number, runs: number, limit?: number, split?: boolean }} shape
   */
  constructor(title, shape) {
    const { turns, deltas, calls = 1, runs, limit, split = false } = shape;
    this.title = title;
    /** Responses that call tools. */
    this.turns = turns;
    /** Text deltas per response. */
    this.deltas = deltas;
    /** Calls per response that makes any. */
    this.calls = calls;
    /** Runs per round. */
    this.runs = runs;
    /** Aim: at most this times the raw loop's processor time. */
    this.limit = limit;
    /** Every event is a write of its own. */
    this.split = split;
  }

  get path() {
    return `/t${this.turns}d${this.deltas}c${this.calls}${this.split ? "s" : ""}/v1`;
  }

  /** Requests per run; more are hidden calls, fewer a loop that stopped early. */
  get requests() {
    return this.turns + 1;
  }

  get finalText() {
    return textOf(this.turns, this.deltas);
  }

  /** Characters of text that a run says in all. */
  get textLength() {
    let length = 0;
    for (let turn = 0; turn <= this.turns; turn += 1) length += textOf(turn, this.deltas).length;
    return length;
  }
}

export const CHAIN = new Scenario("tool chain of 10 turns", { turns: 10, deltas: 20, runs: 20, limit: 1.3 });
export const LONG = new Scenario("tool chain of 100 turns", { turns: 100, deltas: 20, runs: 2, limit: 1.2 });
export const DELTAS = new Scenario("2,000 text deltas", { turns: 0, deltas: 2000, runs: 10, limit: 2 });
export const PARALLEL = new Scenario("5 turns of 16 parallel calls", {
  turns: 5,
  deltas: 20,
  calls: 16,
  runs: 20,
  limit: 1.5,
});
export const SPLIT = new Scenario("500 text deltas, a write each", { turns: 0, deltas: 500, runs: 10, split: true });
export const SHORT_RUN = new Scenario("one tool call", { turns: 1, deltas: 20, runs: 1000 });

/** The scenarios whose processor time is compared. */
export const TIMED = [CHAIN, LONG, DELTAS, PARALLEL, SPLIT];

/** Path of a model that says a little and then nothing, for ever. */
export const STALL_PATH = "/stall/v1";

/** The pieces of text of one response. */
export function piecesOf(turn, deltas) {
  return Array.from({ length: deltas }, (_, index) => `t${turn} w${index} `);
}

/** The text of one response. */
export function textOf(turn, deltas) {
  return piecesOf(turn, deltas).join("");
}

/** The tool that every contender offers. */
export const ADD = {
  name: "add",
  description: "Adds two numbers.",
  parameters: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
};

export const SYSTEM_PROMPT = "You are a calculator. Use the tool for every sum.";
export const PROMPT = "Add them all up.";
