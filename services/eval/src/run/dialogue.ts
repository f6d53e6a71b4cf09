/**
 * A dialogue between an assistant and a simulated user, watched by checkpoints.
 *
 * D1  The simulator is told what was said, never what the checkpoints are.
 * D2  What the simulator said last is delivered before its `goal_achieved` ends the dialogue.
 * D3  Why it ended is always known: `checkpoints`, `goal_achieved`, `max_turns`, `simulator_silent`.
 */

import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { type Answer, textOfOutput } from "../assert/answer.ts";
import { evaluate, type Judges } from "../assert/evaluate.ts";
import { cut } from "../assert/json-equal.ts";
import { lastObjectIn } from "../assert/json-text.ts";
import type { Dialogue, EvalCase, InputMessage } from "../eval-case.ts";
import type { Seat } from "../host.ts";
import type { CheckpointResult, Spent, TurnResult } from "../result.ts";
import { CheckpointBoard } from "./checkpoint-board.ts";
import { addSpent } from "./spent.ts";

/** What a dialogue needs. */
export interface DialogueDeps {
  readonly seat: Pick<Seat, "ask">;
  /** The simulated user's own place: it shares nothing with the assistant. */
  readonly userSeat: Pick<Seat, "ask">;
  readonly judges: Judges;
  readonly clock: Clock;
  readonly agentId: string;
  readonly options: JsonObject;
  readonly onTurn: (turn: TurnResult) => void;
}

/** How a dialogue went. */
export interface DialogueResult {
  readonly status: "passed" | "failed" | "error";
  readonly error?: string;
  readonly cause?: "grader";
  readonly stopReason: "checkpoints" | "goal_achieved" | "max_turns" | "simulator_silent";
  readonly output: Json;
  readonly turns: readonly TurnResult[];
  readonly checkpoints: Readonly<Record<string, CheckpointResult>>;
  readonly usage?: Spent;
}

/** The simulator failed, not the assistant. */
export class SimulatorError extends Error {
  override readonly name = "SimulatorError";
}

const KNOWN_METADATA = ["persona", "goal"];
const MAX_OUTPUT_CHARS = 10_000;
const QUIET = { history: true, trace: true, output: true };

/** Holds the dialogue of a case. Rejects with what the assistant failed with, or a SimulatorError. */
export async function holdDialogue(
  test: EvalCase & { readonly dialogue: Dialogue },
  opening: readonly InputMessage[],
  deps: DialogueDeps,
  signal: AbortSignal,
): Promise<DialogueResult> {
  const talk = new Talk(test, opening, deps, signal);
  let isLast = false;
  for (let turn = 1; ; turn += 1) {
    await talk.turn(turn);
    if (talk.board.isComplete) return talk.result("checkpoints");
    if (isLast) return talk.result("goal_achieved");
    if (turn >= test.dialogue.maxTurns) return talk.result("max_turns");
    const said = await talk.nextUserMessage(turn + 1);
    if (said.message === "") return talk.result(said.isGoalAchieved ? "goal_achieved" : "simulator_silent");
    isLast = said.isGoalAchieved;
  }
}

class Talk {
  readonly board: CheckpointBoard;
  readonly #test: EvalCase & { readonly dialogue: Dialogue };
  readonly #deps: DialogueDeps;
  readonly #signal: AbortSignal;
  readonly #messages: InputMessage[];
  readonly #turns: TurnResult[] = [];
  #usage: Spent | undefined;
  #output: Json = null;

  constructor(
    test: EvalCase & { readonly dialogue: Dialogue },
    opening: readonly InputMessage[],
    deps: DialogueDeps,
    signal: AbortSignal,
  ) {
    this.board = new CheckpointBoard(test.dialogue.checkpoints);
    this.#test = test;
    this.#deps = deps;
    this.#signal = signal;
    this.#messages = [...opening];
  }

  /** The assistant answers what was said last; the checkpoints look at its answer. */
  async turn(turn: number): Promise<void> {
    const { seat, agentId, options, clock, onTurn } = this.#deps;
    const startedMs = clock.monotonic();
    const said = this.#messages.findLast(({ role }) => role === "user");
    const input = textOfOutput(said?.content ?? "");
    const answer = await seat.ask({ agentId, messages: [...this.#messages], options }, this.#signal);
    this.#output = answer.output;
    this.#usage = addSpent(this.#usage, answer.usage);
    this.#messages.push({ role: "assistant", content: textOfOutput(answer.output) });
    const reached = await this.board.look(turn, (checkpoint) =>
      evaluate(
        checkpoint.assertions,
        { answer, input, metadata: this.#test.metadata },
        this.#deps.judges,
        this.#signal,
      ),
    );
    const result = turnResult(
      { turn, input, checkpoints_reached: reached, duration_ms: Math.round(clock.monotonic() - startedMs) },
      answer,
    );
    this.#turns.push(result);
    onTurn(result);
  }

  /** What the simulated user says next. */
  async nextUserMessage(turn: number): Promise<{ readonly message: string; readonly isGoalAchieved: boolean }> {
    const { simulator, maxTurns } = this.#test.dialogue;
    const { metadata, agentId, connector } = simulator;
    const extra = Object.fromEntries(Object.entries(metadata).filter(([key]) => !KNOWN_METADATA.includes(key)));
    const request = {
      persona: metadata["persona"] ?? "",
      goal: metadata["goal"] ?? "",
      conversation: this.#messages.map(({ role, content }) => ({ role, content: content ?? "" })),
      turn_number: turn,
      max_turns: maxTurns,
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
    const options = { skip: QUIET, metadata, ...(connector === undefined ? {} : { connector }) };
    const question = { agentId, messages: [{ role: "user" as const, content: JSON.stringify(request) }], options };
    const answer = await this.#deps.userSeat.ask(question, this.#signal).catch((error: unknown) => {
      if (this.#signal.aborted) throw error;
      throw new SimulatorError(`the simulator ${agentId} failed: ${MeshError.from(error).message}`, { cause: error });
    });
    const said = spoken(answer);
    if (said.message !== "") this.#messages.push({ role: "user", content: said.message });
    return said;
  }

  result(stopReason: DialogueResult["stopReason"]): DialogueResult {
    const { board } = this;
    const base = {
      stopReason,
      output: this.#output,
      turns: this.#turns,
      checkpoints: board.results,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
    };
    if (board.isComplete) return { ...base, status: "passed" };
    const missing = `not reached: ${board.pending.join(", ")} (${WORDS[stopReason]})`;
    if (board.errors.length > 0) {
      return { ...base, status: "error", cause: "grader", error: `${missing}; ${board.errors.slice(0, 3).join("; ")}` };
    }
    return { ...base, status: "failed", error: missing };
  }
}

const WORDS: Readonly<Record<DialogueResult["stopReason"], string>> = {
  checkpoints: "all were",
  goal_achieved: "the simulator says that its goal is achieved",
  max_turns: "the turns are used up",
  simulator_silent: "the simulator said nothing more",
};

/** The simulator's reply: an object, or a text that is the message. */
function spoken({ output }: Answer): { readonly message: string; readonly isGoalAchieved: boolean } {
  const isReply = (value: Json): boolean =>
    isObject(value) && (typeof value["message"] === "string" || typeof value["goal_achieved"] === "boolean");
  const reply = isReply(output) ? output : lastObjectIn(textOfOutput(output), isReply);
  if (!isObject(reply)) return { message: textOfOutput(output).trim(), isGoalAchieved: false };
  const { message, goal_achieved: achieved } = reply;
  return { message: typeof message === "string" ? message.trim() : "", isGoalAchieved: achieved === true };
}

function turnResult(
  head: Omit<TurnResult, "output" | "response">,
  { output, text, toolCalls, trace }: Answer,
): TurnResult {
  return {
    ...head,
    output: typeof output === "string" ? cut(output, MAX_OUTPUT_CHARS) : output,
    response: { content: text, tool_calls: toolCalls, next: trace.next ?? null },
  };
}
