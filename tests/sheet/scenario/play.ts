/** Plays scenarios: a server, a stage, a library, and what is wrong with what came of it. */

import { systemClock } from "@mesh/kernel";

import { LOOP_SCENARIOS } from "./loop-scenario.ts";
import { REQUEST_SCENARIOS } from "./request-scenario.ts";
import { type Library, type Played, type Scenario, scenarioFaults, type Seen, type Stage } from "./scenario.ts";
import { type ScriptServer, startScriptServer } from "./script-server.ts";

/** Every row, in the order of the reports. */
export const SCENARIOS: readonly Scenario[] = [...LOOP_SCENARIOS, ...REQUEST_SCENARIOS].toSorted(
  (a, b) => a.row - b.row,
);

const PATIENCE_MS = 5000;

/** Whether a library has what a scenario needs. */
export function canPlay(library: Library, scenario: Scenario): boolean {
  const { abilities, protocols } = library;
  return protocols.includes(scenario.protocol) && scenario.needs.every((need) => abilities.includes(need));
}

/** Plays a scenario with a library; what is wrong, empty when all is as it must be. */
export async function playScenario(library: Library, scenario: Scenario): Promise<readonly string[]> {
  const server = await startScriptServer(scenario.answers);
  const unhandled: string[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(`an unhandled rejection: ${String(reason)}`);
  process.on("unhandledRejection", onUnhandled);
  const stop = new AbortController();
  try {
    const stage = new LiveStage(library, scenario, server);
    const played = await Promise.race([scenario.play(stage), systemClock.sleep(PATIENCE_MS, stop.signal)]);
    if (played === undefined) return ["it never settles", ...unhandled];
    return [...scenarioFaults(scenario, seenOf(played, stage, server)), ...unhandled];
  } catch (error) {
    return [`crashed: ${error instanceof Error ? error.message : String(error)}`, ...unhandled];
  } finally {
    stop.abort();
    process.off("unhandledRejection", onUnhandled);
    await server.close();
  }
}

function seenOf({ session, ends, facts = {} }: Played, stage: Stage, server: ScriptServer): Seen {
  return { requests: server.requests, done: stage.done, history: session.history(), ends, facts };
}

class LiveStage implements Stage {
  readonly done: string[] = [];
  readonly #library: Library;
  readonly #scenario: Scenario;
  readonly #server: ScriptServer;
  #waiters: (() => void)[] = [];

  constructor(library: Library, scenario: Scenario, server: ScriptServer) {
    this.#library = library;
    this.#scenario = scenario;
    this.#server = server;
  }

  open(options: Parameters<Stage["open"]>[0] = {}): ReturnType<Stage["open"]> {
    return this.#library.open({ protocol: this.#scenario.protocol, baseUrl: this.#server.baseUrl }, options);
  }

  did(what: string): void {
    this.done.push(what);
    for (const wake of this.#waiters.splice(0)) wake();
  }

  requests(): number {
    return this.#server.requests.length;
  }

  async until(what: string): Promise<void> {
    while (!this.done.includes(what)) {
      await new Promise<void>((resolve) => {
        this.#waiters.push(resolve);
      });
    }
  }
}
