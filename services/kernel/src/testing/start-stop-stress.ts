import { systemClock } from "../clock.ts";
import type { Service } from "../run-group.ts";

/** Runs fresh services through abrupt stops: aborted before start, at once, and after short random whiles; each must end cleanly. */
export async function startStopStress(make: () => Service | Promise<Service>, rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const service = await make();
    const stop = new AbortController();
    if (round === 0) stop.abort();
    const running = service.run(stop.signal);
    await systemClock.sleep(round % 5);
    stop.abort();
    await running;
  }
}
