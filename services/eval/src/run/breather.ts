/** Lets other work run between cases that wait for nothing: an interrupt, a message of another process, a pipe that wants to be written. */

import type { Clock } from "@mesh/kernel";

const TURN_MS = 25;

/** A function to await after each case; it gives way once a turn has lasted long enough. */
export function breather(clock: Clock): () => Promise<void> {
  let turnMs = clock.monotonic();
  return async () => {
    if (clock.monotonic() - turnMs <= TURN_MS) return;
    await clock.sleep(0);
    turnMs = clock.monotonic();
  };
}
