/** Messages that reach a run while it goes on: taken from their queue, screened where the run asks for it. */

import { raced } from "./cancel.ts";
import { promptText, runFilters, withWarnings } from "./input-filter.ts";
import type { LiveRun } from "./live-run.ts";
import { type AgentMessage, mayBeAdded } from "./message.ts";

/** Takes what steering may inject now into the run's inbox; tells whether something came. */
export function takeSteering(run: LiveRun): Promise<boolean> {
  return take(run, run.config.pollSteering);
}

/** Takes the follow-ups to go on with into the run's inbox; tells whether something came. */
export function takeFollowUps(run: LiveRun): Promise<boolean> {
  return take(run, run.config.pollFollowUps);
}

async function take(run: LiveRun, poll: (() => readonly AgentMessage[]) | undefined): Promise<boolean> {
  if (poll === undefined || run.signal.aborted) return false;
  const polled = poll();
  const messages = polled.filter(mayBeAdded);
  if (messages.length < polled.length)
    run.log("error", "queued message dropped: it holds or answers calls", { runId: run.id });
  if (messages.length === 0) return false;
  const passed = await screened(run, messages);
  run.inbox.push(...passed);
  return passed.length > 0;
}

async function screened(run: LiveRun, messages: readonly AgentMessage[]): Promise<readonly AgentMessage[]> {
  const { filterQueued = false, inputFilters = [] } = run.config;
  if (!filterQueued || inputFilters.length === 0) return messages;
  const passed: AgentMessage[] = [];
  for (const message of messages) {
    const outcome = await raced(() => runFilters(inputFilters, promptText([message]), run.signal), run.signal);
    if (outcome.kind !== "value" || outcome.value.kind === "reject") {
      run.log("warn", "queued message rejected", { runId: run.id });
    } else passed.push(...withWarnings([message], outcome.value.warnings));
  }
  return passed;
}
